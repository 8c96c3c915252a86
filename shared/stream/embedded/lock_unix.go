//go:build unix

package embedded

import (
	"os"
	"path/filepath"
	"syscall"

	"triptych/shared/failure"
)

// lockDirectory takes a directory for this server alone. The system gives it back
// when the process ends, however it ends.
func lockDirectory(directory string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(directory, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "the directory %q can't be written to", directory)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, failure.Wrap(err, failure.Conflict, "the directory %q is used by another NATS server", directory)
	}
	return f, nil
}
