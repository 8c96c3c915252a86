package web

import (
	"errors"
	"io"
	"mime/multipart"

	"triptych/shared/failure"
)

// PartReader reads a part of a form, and remembers that it was the form that failed,
// not what is made of the part.
type PartReader struct {
	Part *multipart.Part
	// Err is why the form could not be read, with its Kind.
	Err error
}

// Read implements io.Reader.
func (r *PartReader) Read(p []byte) (int, error) {
	n, err := r.Part.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a wrapped one is a form that was cut
		r.Err = FormFailure(err)
		return n, r.Err
	}
	return n, err
}

// FormFailure keeps what the body's bounds said; the rest is a broken form.
func FormFailure(err error) error {
	var known *failure.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, multipart.ErrMessageTooLarge):
		return failure.Wrap(err, failure.TooLarge, "the headers of a part of the form are too long")
	default:
		return failure.Wrap(err, failure.Invalid, "the form is not well formed")
	}
}
