package modelserver

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"triptych/shared/failure"
)

// scratch is a folder of files that came with a load request. It is removed when
// the last version that was loaded from it is closed. A nil scratch is no folder.
type scratch struct {
	parent    string
	directory string // the model's folder in it
	users     atomic.Int64
	logger    *slog.Logger
}

// newScratch writes files, by their slashed paths, into a new folder for a model.
// Its maker is the first who holds it.
func newScratch(model string, files map[string][]byte, logger *slog.Logger) (*scratch, error) {
	parent, err := os.MkdirTemp("", "triptych-model-")
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "there is no place for the files of model %q", model)
	}
	s := &scratch{parent: parent, directory: filepath.Join(parent, model), logger: logger}
	s.hold()
	if err := s.write(files); err != nil {
		s.release()
		return nil, failure.Wrap(err, failure.Internal, "the files of model %q can't be kept", model)
	}
	return s, nil
}

func (s *scratch) write(files map[string][]byte) error {
	if err := os.Mkdir(s.directory, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		file := filepath.Join(s.directory, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (s *scratch) hold() {
	if s != nil {
		s.users.Add(1)
	}
}

func (s *scratch) release() {
	if s == nil || s.users.Add(-1) > 0 {
		return
	}
	if err := os.RemoveAll(s.parent); err != nil {
		s.logger.Warn("the files of a closed model are not removed", "folder", s.parent, "error", err)
	}
}
