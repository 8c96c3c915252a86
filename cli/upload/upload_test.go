package upload_test

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"triptych/cli/upload"
	"triptych/shared/failure"
)

// tree makes files, each with its own name as its content, and goes there.
func tree(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, b *upload.Body) string {
	t.Helper()
	r, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// parts are the names of a form and what is in them.
func parts(t *testing.T, contentType, body string) (all [][2]string) {
	t.Helper()
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	form := multipart.NewReader(strings.NewReader(body), params["boundary"])
	for {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		_, disposition, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, [2]string{disposition["filename"], string(data)})
	}
}

func TestFiles(t *testing.T) {
	tree(t, "in/b/2.jpg", "in/b/10.jpg", "in/a.WEBP", "in/.DS_Store", "in/.cache/x.jpg", "in/readme.md", "in/b/ä \"q\".tif", "other/notes.txt", "link/real.png")
	for link, target := range map[string]string{"in/linked.png": "../link/real.png", "in/folder.jpg": "../link", "in/broken.gif": "nothing"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		paths []string
		want  [][2]string
	}{
		"a folder": {[]string{"in"}, [][2]string{
			{"in/a.WEBP", "in/a.WEBP"}, {"in/b/10.jpg", "in/b/10.jpg"}, {"in/b/2.jpg", "in/b/2.jpg"}, {"in/b/ä \"q\".tif", "in/b/ä \"q\".tif"}, {"in/linked.png", "link/real.png"},
		}},
		"this folder":      {[]string{"./link/.."}, nil},
		"a file in it":     {[]string{"./other/../in/b/2.jpg"}, [][2]string{{"2.jpg", "in/b/2.jpg"}}},
		"any file by name": {[]string{"other/notes.txt", "in/b/2.jpg"}, [][2]string{{"notes.txt", "other/notes.txt"}, {"2.jpg", "in/b/2.jpg"}}},
		"a folder twice":   {[]string{"link", "link/"}, [][2]string{{"link/real.png", "link/real.png"}, {"link/real.png", "link/real.png"}}},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := upload.Files(tt.paths, "key")
			if err != nil {
				t.Fatal(err)
			}
			body := read(t, b)
			got := parts(t, b.ContentType, body)
			if tt.want == nil {
				if len(got) != 6 || got[0][0] != "in/a.WEBP" {
					t.Errorf("%v", got)
				}
			} else if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if again := read(t, b); again != body {
				t.Error("the same files are other bytes the second time")
			}
			if items, bytes, took := b.Sent(); items != int64(len(got)) || bytes != int64(len(body)) || b.Items != items || took <= 0 {
				t.Errorf("sent %d items and %d bytes in %s", items, bytes, took)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A form that can't be finished has no end, and can't be taken for a whole one.
func TestFilesVanish(t *testing.T) {
	tree(t, "a.jpg", "b.jpg")
	b, err := upload.Files([]string{"a.jpg", "b.jpg"}, "key")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove("b.jpg"); err != nil {
		t.Fatal(err)
	}
	r, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if failure.Message(err) != "b.jpg can't be read: no such file or directory" || strings.Contains(string(data), "--\r\n") {
		t.Errorf("%v, %q", err, data)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Whoever has had enough does not wait for a writer that nobody reads.
func TestFilesGivenUp(t *testing.T) {
	tree(t, "a.jpg")
	if err := os.Truncate("a.jpg", 1<<20); err != nil {
		t.Fatal(err)
	}
	b, err := upload.Files([]string{"a.jpg"}, "key")
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestFilesOfFolderThatCantBeRead(t *testing.T) {
	tree(t, "in/a.jpg")
	if _, err := upload.Files([]string{"in", "absent"}, "key"); failure.Message(err) != "absent can't be read: no such file or directory" {
		t.Error(err)
	}
}

func TestArchiveType(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a.zip": "application/zip", "a.TAR": "application/x-tar", "x/a.tar.gz": "application/gzip", "a.tgz": "application/gzip",
		"a.gz": "", "a.jpg": "", "zip": "", "tar": "",
	} {
		if got := upload.ArchiveType(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

func TestArchive(t *testing.T) {
	tree(t, "a.zip")
	b, err := upload.Archive("a.zip")
	if err != nil {
		t.Fatal(err)
	}
	if body := read(t, b); body != "a.zip" || b.Size != 5 || b.ContentType != "application/zip" {
		t.Errorf("%q, %d bytes of %s", body, b.Size, b.ContentType)
	}
	if err := os.Remove("a.zip"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(); failure.KindOf(err) != failure.Invalid {
		t.Errorf("an archive that is gone: %v", err)
	}
}

// Input can be sent again while it still comes: each reader gets all of it.
func TestInput(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 50_000)
	b, err := upload.Input(iotest.HalfReader(strings.NewReader(content)))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, n := range []int{10, 300_000, 200_000, 0} {
		r, err := b.Open()
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(r, data); err != nil || string(data) != content[:n] {
			t.Errorf("the first %d bytes are others: %v", n, err)
		}
		r.Close()
	}
	// One that was given up may read on beside the next.
	old, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = io.Copy(io.Discard, old) }()
	if body := read(t, b); body != content || read(t, b) != content {
		t.Error("the input is another")
	}
	<-ended
}

func TestInputFails(t *testing.T) {
	t.Parallel()
	if _, err := upload.Input(iotest.ErrReader(errors.New("pipe broke"))); failure.Message(err) != "standard input can't be read: pipe broke" {
		t.Error(err)
	}
	b, err := upload.Input(io.MultiReader(strings.NewReader("tar and"), iotest.ErrReader(errors.New("pipe broke"))))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for range 2 {
		r, err := b.Open()
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(r); string(data) != "tar and" || failure.Message(err) != "standard input can't be read: pipe broke" {
			t.Errorf("%q, %v", data, err)
		}
	}
}

func TestKeys(t *testing.T) {
	args, err := upload.Keys([]string{"a/1.jpg", `"odd"`})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := upload.KeyInput(strings.NewReader("a/1.jpg\r\n\n  \"odd\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	for name, b := range map[string]*upload.Body{"arguments": args, "lines": lines} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				if got, want := read(t, b), `{"items":[{"key":"a/1.jpg"},{"key":"\"odd\""}]}`; got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if items, _, _ := b.Sent(); items != 2 {
					t.Errorf("%d items", items)
				}
			}
		})
	}
	long, err := upload.Keys([]string{string(bytes.Repeat([]byte("x"), 1<<17))})
	if err != nil {
		t.Fatal(err)
	}
	r, err := long.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); failure.Message(err) != "the list of keys can't be read: bufio.Scanner: token too long" {
		t.Error(err)
	}
}
