// Package sample reads the images that a test sends. They stay in memory, so
// that the disk is no part of what is measured.
package sample

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triptych/shared/failure"
)

// MaxBytes bounds the images of one test.
const MaxBytes = 1 << 30

// Image is one file.
type Image struct {
	// Name is the file's name without its folder.
	Name string
	Data []byte
}

// Read reads files, and all files of folders but not of folders within, in the
// order of the paths given and of the names in a folder. Files whose name
// begins with a dot are left out.
func Read(paths ...string) ([]Image, error) {
	files := list(paths)
	images := make([]Image, 0, len(files))
	left := int64(MaxBytes)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return nil, failure.Wrap(err, failure.Invalid, "image %s can't be read", file)
		}
		if left -= info.Size(); left < 0 {
			return nil, failure.New(failure.TooLarge, "the images have more than %d bytes together", MaxBytes)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, failure.Wrap(err, failure.Invalid, "image %s can't be read", file)
		}
		images = append(images, Image{filepath.Base(file), data})
	}
	if len(images) == 0 {
		return nil, failure.New(failure.Invalid, "there are no images in %s", strings.Join(paths, ", "))
	}
	return images, nil
}

func list(paths []string) []string {
	var files []string
	for _, path := range paths {
		entries, err := os.ReadDir(path)
		if err != nil {
			files = append(files, path) // not a folder, or not there: reading it will tell
			continue
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		for _, e := range entries {
			if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	return files
}
