package modelserver

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// tree is what a model's folder looks like from outside, by slashed path: of a
// file its size, its time and where a link leads, of a folder where it really
// lies. Contents are not read. Two equal trees are taken for the same files.
type tree map[string]string

// The bounds of a tree: a folder with more files, or more folders in each other,
// is hardly a model, and to look at it would take long.
const (
	maxFiles  = 100_000
	maxNested = 64
)

// survey looks at all files of a model's folder. Hidden ones are passed over, as
// in a repository; links are followed, also into hidden folders: that is how a
// mounted ConfigMap is laid out.
func survey(directory string) (tree, error) {
	s := surveyor{model: filepath.Base(directory), tree: tree{}}
	if err := s.folder(directory, ".", nil); err != nil {
		return nil, err
	}
	return s.tree, nil
}

type surveyor struct {
	model string
	tree  tree
}

func (s *surveyor) folder(full, rel string, way []string) error {
	if len(way) > maxNested {
		return failure.New(failure.Invalid, "the folder of model %q has more than %d folders in each other", s.model, maxNested)
	}
	place, err := filepath.EvalSymlinks(full)
	if err != nil {
		return s.unread(rel, err)
	}
	s.tree[rel] = "folder " + place
	if slices.Contains(way, place) {
		return nil // a link that leads back to where we have been
	}
	entries, err := os.ReadDir(full)
	if err != nil {
		return s.unread(rel, err)
	}
	way = append(slices.Clone(way), place)
	for _, e := range entries {
		if hidden(e.Name()) {
			continue
		}
		if err := s.entry(e, filepath.Join(full, e.Name()), path.Join(rel, e.Name()), way); err != nil {
			return err
		}
	}
	return nil
}

func (s *surveyor) entry(e fs.DirEntry, full, rel string, way []string) error {
	if len(s.tree) >= maxFiles {
		return failure.New(failure.Invalid, "the folder of model %q has more than %d files", s.model, maxFiles)
	}
	info, err := os.Stat(full)
	if err != nil {
		return s.unread(rel, err)
	}
	if info.IsDir() {
		return s.folder(full, rel, way)
	}
	target := ""
	if e.Type()&fs.ModeSymlink != 0 {
		if target, err = filepath.EvalSymlinks(full); err != nil {
			return s.unread(rel, err)
		}
	}
	s.tree[rel] = strconv.FormatInt(info.Size(), 10) + " " + strconv.FormatInt(info.ModTime().UnixNano(), 10) + " " + target
	return nil
}

// unread notes what is gone again, or a link that leads nowhere. Whoever needs
// the file says so.
func (s *surveyor) unread(rel string, err error) error {
	if rel == "." || !errors.Is(err, fs.ErrNotExist) {
		return failure.Wrap(err, failure.Unavailable, "the folder of model %q can't be read", s.model)
	}
	s.tree[rel] = "absent"
	return nil
}

// of is the part that one version depends on: its own folder and what all
// versions share. The configuration, of which only the meaning counts, is not in
// it.
func (t tree) of(version int64) tree {
	part := maps.Clone(t)
	maps.DeleteFunc(part, func(file, _ string) bool {
		first, _, _ := strings.Cut(file, "/")
		n, ok := modelconfig.ParseVersion(first)
		return file == modelconfig.Filename || (ok && n != version)
	})
	return part
}

// changed is a file of t that is not the same any more in a later look; "" when
// there is none. New files don't count: a backend may keep what it compiled.
func (t tree) changed(later tree) string {
	for _, file := range slices.Sorted(maps.Keys(t)) {
		if later[file] != t[file] {
			return file
		}
	}
	return ""
}
