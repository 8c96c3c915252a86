package modelconfig

import (
	"errors"
	"strconv"

	"triptych/shared/failure"
)

// blamed is an error about a field of a configuration, told by one who does not
// have its text.
type blamed struct {
	error
	path      []place
	parameter string // whose entry it is about, instead of path
}

func (b *blamed) Unwrap() error { return b.error }

// Blame says which field an error is about: the index-th of a repeated field, or
// a field of it when member is given. Blame(err, "input", 1, "dims") is the dims
// of the second input. Backends blame, the document's Point points. Parameters
// blame by themselves.
func Blame(err error, field string, index int, member string) error {
	if err == nil {
		return nil
	}
	path := []place{{field, index}}
	if member != "" {
		path = append(path, place{member, 0})
	}
	return &blamed{error: err, path: path}
}

// Point puts the place of the field that err is about before its message. An
// error about no field, or about one that the text does not have, stays.
func (d *Document) Point(err error) error {
	var b *blamed
	if !errors.As(err, &b) {
		return err
	}
	path := b.path
	if b.parameter != "" {
		path = []place{d.where.entry(nil, "parameters", strconv.Quote(b.parameter))}
	}
	if err == b { //nolint:errorlint // what is around the blame stays
		err = b.error
	}
	// The field itself may be absent where the message around it is not.
	if where := d.where.at(path...); where.line > 0 {
		return failure.Prefix(where.String(), err)
	}
	return err
}
