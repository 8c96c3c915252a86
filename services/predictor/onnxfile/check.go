package onnxfile

import (
	"os"
	"path/filepath"

	"triptych/shared/failure"
)

// Readable tells whether the file at path is there to its end, and so are its
// files of weights: a copy that is not finished is not. Whether the runtime
// takes it is another matter.
func Readable(path string) error {
	_, err := whole(path)
	return err
}

// Check is Readable and holds the file against what the runtime takes. An error
// is Invalid; its message goes on after "model.onnx can't be loaded: ".
func Check(path string, limits Limits) error {
	h, err := whole(path)
	if err != nil || h.Optimized {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxFile {
		return failure.New(failure.Invalid, "the file has %d bytes, one of ONNX takes up to %d: its weights must be saved as external data", info.Size(), int64(maxFile))
	}
	return h.within(limits)
}

// whole is the header of a file that is all there.
func whole(path string) (*Header, error) {
	h, err := Read(path)
	if err != nil {
		return nil, err
	}
	return h, h.complete(filepath.Dir(path))
}
