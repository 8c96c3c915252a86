package onnxfile

import (
	"os"
	"path/filepath"

	"triptych/shared/failure"
)

// Check tells whether the file at path is there to its end, and so are its files
// of weights (a copy that is not finished is not), and holds it against what the
// runtime takes. An error is Invalid; its message goes on after "model.onnx can't
// be loaded: ".
func Check(path string, limits Limits) error {
	h, err := Read(path)
	if err != nil {
		return err
	}
	if err := h.complete(filepath.Dir(path)); err != nil || h.Optimized {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxFile {
		return failure.New(failure.Invalid, "the file has %d bytes, one of ONNX takes up to %d: its weights must be saved as external data", info.Size(), int64(maxFile))
	}
	return h.within(limits)
}
