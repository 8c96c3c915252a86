package upload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"triptych/shared/failure"
)

// endings are those of image files, which are what is taken from folders.
func endings() []string {
	return []string{".bmp", ".gif", ".jfif", ".jpe", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
}

// Files is a form of files, and of the image files in folders and theirs. The key is
// the job's: the same files with the same key are the same bytes.
func Files(paths []string, key string) (*Body, error) {
	sum := sha256.Sum256([]byte(key))
	boundary := "triptych-" + hex.EncodeToString(sum[:16])
	b := &Body{ContentType: "multipart/form-data; boundary=" + boundary, Size: -1}
	b.open = func(b *Body) (io.ReadCloser, error) {
		return makeBody(func(w io.Writer) error { return b.writeForm(w, paths, boundary) }), nil
	}
	err := walk(paths, func(string, string) error {
		b.Items++
		return nil
	})
	if err == nil && b.Items == 0 {
		err = failure.New(failure.Invalid, "there are no image files (%s) in %s", strings.Join(endings(), " "), strings.Join(paths, ", "))
	}
	return b, err
}

func (b *Body) writeForm(w io.Writer, paths []string, boundary string) error {
	form := multipart.NewWriter(w)
	if err := form.SetBoundary(boundary); err != nil {
		return err
	}
	room := make([]byte, buffer)
	err := walk(paths, func(path, name string) error {
		part, err := form.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {multipart.FileContentDisposition("image", printable(name))},
			"Content-Type":        {"application/octet-stream"},
		})
		if err != nil {
			return err
		}
		defer b.items.Add(1)
		return copyFile(part, path, room)
	})
	if err != nil {
		return err // without the form's end, for half of it must not look whole
	}
	return form.Close()
}

// printable is a name without what no header may have.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
}

func copyFile(w io.Writer, path string, room []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return unreadable(path, err)
	}
	defer f.Close() //nolint:errcheck // a file that was only read
	if _, err := io.CopyBuffer(w, reader{f}, room); err != nil {
		if errors.Is(err, io.ErrClosedPipe) {
			return err // nobody reads any more
		}
		return unreadable(path, err)
	}
	return nil
}

// reader hides that a file can write itself, which would not use the buffer.
type reader struct{ io.Reader }

// walk calls each with the path of every file and its name in the job, in an order
// that is always the same. Hidden files of folders are left out, and so are links
// to folders.
func walk(paths []string, each func(path, name string) error) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return unreadable(path, err)
		case info.IsDir():
			err = walkFolder(path, each)
		case info.Mode().IsRegular():
			err = each(path, filepath.Base(path))
		default:
			err = failure.New(failure.Invalid, "%s is not a file", path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func walkFolder(root string, each func(path, name string) error) error {
	// In names the folder is called as it is, but for those that have no name of their
	// own, such as ".".
	prefix := filepath.Base(filepath.Clean(root))
	if prefix == "." || prefix == ".." || prefix == string(filepath.Separator) {
		prefix = ""
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return unreadable(path, err)
		}
		if path != root && strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !image(path, entry) {
			return nil
		}
		inner, err := filepath.Rel(root, path)
		if err != nil {
			return unreadable(path, err)
		}
		return each(path, filepath.ToSlash(filepath.Join(prefix, inner)))
	})
}

// image tells whether an entry of a folder is a file that is called like an image.
func image(path string, entry fs.DirEntry) bool {
	if !slices.Contains(endings(), strings.ToLower(filepath.Ext(path))) {
		return false
	}
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := os.Stat(path) // what the link leads to
	return err == nil && info.Mode().IsRegular()
}
