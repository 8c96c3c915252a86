package embedded

import (
	"io/fs"
	"path/filepath"

	"triptych/shared/failure"
)

// Bounds of what is left free when nobody says how much.
const (
	leastReserve = 64 << 20
	mostReserve  = 1 << 30
	reserveShare = 20 // of the disk
)

func (c *Config) reserve(total int64) int64 {
	if c.Reserve > 0 {
		return c.Reserve
	}
	return min(max(total/reserveShare, leastReserve), mostReserve)
}

// room is what JetStream may keep in files: what it keeps already and what is free,
// less the reserve. It is never 0, which the server would take for no bound.
func (c *Config) room() (int64, error) {
	if c.MaxBytes > 0 {
		return c.MaxBytes, nil
	}
	total, free, err := disk(c.Directory)
	if err != nil {
		return 0, err
	}
	used, err := size(c.Directory)
	if err != nil {
		return 0, err
	}
	return max(used+free-c.reserve(total), 1), nil
}

// size is the bytes of all files in a directory.
func size(directory string) (bytes int64, err error) {
	err = filepath.WalkDir(directory, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, failure.Wrap(err, failure.Invalid, "the directory %q can't be read", directory)
	}
	return bytes, nil
}
