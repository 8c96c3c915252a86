package modelconfig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// maxFile bounds a configuration's size: a real one has a few kilobytes.
const maxFile = 4 << 20

// Read reads the configuration of the model in a directory, or starts an empty
// one where there is no file. The model is called like its directory. The
// backend is filled in; completing and checking the rest comes later.
func Read(directory string) (*Document, error) {
	file := filepath.Join(directory, Filename)
	// What people see is the model's folder and the file, not where the
	// repository lies on this machine.
	shown := filepath.Join(filepath.Base(directory), Filename)
	text, err := readFile(file, shown)
	if err != nil {
		return nil, err
	}
	cfg, err := ParseText(shown, text)
	if err != nil {
		return nil, err
	}
	d := NewDocument(shown, text, cfg)
	name := filepath.Base(directory)
	if cfg.GetName() != "" && cfg.GetName() != name {
		return nil, d.failf([]place{{"name", 0}}, "the model is called %q, but its directory %q", cfg.GetName(), name)
	}
	cfg.Name = name
	return d, d.FillBackend(directory)
}

func readFile(file, shown string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(file); err == nil { // not "no configuration": one is meant to be there
			return nil, failure.New(failure.Invalid, "%s is a link to a file that is not there", shown)
		}
		return nil, nil
	case err != nil:
		return nil, failure.Wrap(err, failure.Invalid, "%s can't be read", shown)
	case !info.Mode().IsRegular():
		return nil, failure.New(failure.Invalid, "%s is not a file", shown)
	case info.Size() > maxFile:
		return nil, failure.New(failure.Invalid, "%s has %d bytes, at most %d are read", shown, info.Size(), maxFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "%s can't be read", shown)
	}
	return text, nil
}

// Derive is a document for a changed copy of a configuration, as completing
// makes one for each version.
func (d *Document) Derive(cfg *inference.ModelConfig) *Document {
	return &Document{Config: cfg, where: d.where}
}
