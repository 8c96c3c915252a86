package upload

import (
	"io"
	"os"
	"strings"
)

// The types of archives.
const (
	zipType  = "application/zip"
	tarType  = "application/x-tar"
	gzipType = "application/gzip"
)

// ArchiveType is the type of a file that is called like an archive; empty for one
// that is not.
func ArchiveType(path string) string {
	lower := strings.ToLower(path)
	switch {
	case strings.HasSuffix(lower, ".zip"):
		return zipType
	case strings.HasSuffix(lower, ".tar"):
		return tarType
	case strings.HasSuffix(lower, ".tar.gz"), strings.HasSuffix(lower, ".tgz"):
		return gzipType
	default:
		return ""
	}
}

// Archive is an archive, sent as it is.
func Archive(path string) (*Body, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	open := func(*Body) (io.ReadCloser, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		return f, nil
	}
	return &Body{ContentType: ArchiveType(path), Size: info.Size(), open: open}, nil
}
