package intake

import (
	"errors"
	"io"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"triptych/shared/failure"
)

// read reads the items of a job out of a body of one form.
type read func(d *draft, body io.Reader) error

// reader is what reads a body of a media type.
func reader(contentType string) (read, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = ""
	}
	switch media {
	case "multipart/form-data":
		return formReader(params["boundary"])
	case "application/json":
		return readKeys, nil
	case "application/zip", "application/x-zip-compressed":
		return readZIP, nil
	case "application/x-tar", "application/tar":
		return readTAR, nil
	case "application/gzip", "application/x-gzip":
		return readGzip, nil
	default:
		return nil, failure.New(failure.UnsupportedMedia, "a job is multipart/form-data, application/json, application/zip, application/x-tar or application/gzip, not %s", failure.Quote(contentType))
	}
}

// archiveFailure keeps what the body's bounds said; the rest is a broken archive.
func archiveFailure(kind string, err error) error {
	var known *failure.Error
	if errors.As(err, &known) {
		return err
	}
	return failure.Wrap(err, failure.Invalid, "the %s archive is not well formed", kind)
}

// archived reads a file of an archive. Its failures have a Kind.
type archived struct {
	kind   string
	source io.Reader
}

// Read implements io.Reader.
func (a archived) Read(p []byte) (int, error) {
	n, err := a.source.Read(p)
	if err != nil && err != io.EOF { // a wrapped one is an archive that was cut
		return n, archiveFailure(a.kind, err)
	}
	return n, err
}

// checkName refuses names that have a meaning as paths or that nobody could have
// wanted: they are a sign of an archive that was made to do harm.
func checkName(name string) error {
	var why string
	switch {
	case name == "" || len(name) > maxName:
		return failure.New(failure.Invalid, "the archive has a file whose name has %d bytes, must be 1 to %d", len(name), maxName)
	case !utf8.ValidString(name):
		why = "is not UTF-8"
	case strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':':
		why = "is an absolute path"
	case strings.ContainsRune(name, '\\') || strings.ContainsFunc(name, unicode.IsControl):
		why = "has a character that no name should have"
	default:
		for element := range strings.SplitSeq(name, "/") {
			if element == ".." {
				why = "leads out of the archive"
			}
		}
	}
	if why != "" {
		return failure.New(failure.Invalid, "the name %s of a file in the archive %s", failure.Quote(name), why)
	}
	return nil
}

// ratioFrom is how much an archive may unpack to whatever its size.
const ratioFrom = 1 << 20

// unpacked refuses an archive that unpacks to too many times its size.
type unpacked struct {
	source io.Reader
	packed func() int64
	ratio  int64
	bytes  int64
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.source.Read(p)
	u.bytes += int64(n)
	if u.bytes > ratioFrom && u.bytes/u.ratio > u.packed() {
		return 0, failure.New(failure.TooLarge, "the archive unpacks to more than %d times its size", u.ratio)
	}
	return n, err
}
