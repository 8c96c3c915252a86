//go:build linux || darwin

package embedded

import (
	"syscall"

	"triptych/shared/failure"
)

// disk tells how large the disk of a directory is, and how much of it is free.
func disk(directory string) (total, free int64, err error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(directory, &fs); err != nil {
		return 0, 0, failure.Wrap(err, failure.Unavailable, "the disk of %q can't be asked what is free", directory)
	}
	block := int64(fs.Bsize) //nolint:unconvert // it has another type on other systems
	return int64(fs.Blocks) * block, int64(fs.Bavail) * block, nil
}
