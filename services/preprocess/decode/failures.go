package decode

import (
	"errors"
	"io"
	"strings"

	"triptych/shared/failure"
)

// recoverInto turns a panic of a decoder into a broken image: the file is what
// made it panic. It runs in the decoder's own goroutine, deferred.
func recoverInto(format *Format, err *error) {
	if v := recover(); v != nil {
		*err = broken(failure.Panicked(v), *format, "corrupt")
	}
}

// How a file can be broken.
const (
	truncated = "truncated"
	corrupt   = "corrupt"
)

// brokenBy blames the file for an error of a decoder, unless the error has a Kind
// already: that the caller has gone, or that there is no memory, is not the
// file's fault. Go's decoders do not all wrap what they met: the end of the data
// means truncated, all else corrupt.
func brokenBy(err error, format Format) error {
	var kinded *failure.Error
	if errors.As(err, &kinded) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.Contains(err.Error(), "EOF") || strings.Contains(err.Error(), "not enough") {
		return broken(err, format, truncated)
	}
	return broken(err, format, corrupt)
}
