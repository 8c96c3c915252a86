package modelconfig

import (
	"errors"

	"triptych/shared/failure"
)

// blamed is an error about a field of a configuration, told by one who does not
// have its text.
type blamed struct {
	error
	path []place
}

func (b *blamed) Unwrap() error { return b.error }

// Blame says which field an error is about: the index-th of a repeated field, or
// a field of it when member is given. Blame(err, "input", 1, "dims") is the dims
// of the second input. Backends blame, the document's Point points.
func Blame(err error, field string, index int, member string) error {
	if err == nil {
		return nil
	}
	path := []place{{field, index}}
	if member != "" {
		path = append(path, place{member, 0})
	}
	return &blamed{err, path}
}

// Point puts the place of the field that err is about before its message. An
// error about no field, or about one that the text does not have, stays.
func (d *Document) Point(err error) error {
	var b *blamed
	if !errors.As(err, &b) {
		return err
	}
	// The field itself may be absent where the message around it is not.
	if where := d.where.at(b.path...); where.line > 0 {
		return failure.Prefix(where.String(), b.error)
	}
	return b.error
}
