//go:build !unix

package embedded

import (
	"os"
	"path/filepath"

	"triptych/shared/failure"
)

// lockDirectory can't keep others away on this system.
func lockDirectory(directory string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(directory, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "the directory %q can't be written to", directory)
	}
	return f, nil
}
