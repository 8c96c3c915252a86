package jsonlex

import (
	"bytes"

	"triptych/shared/failure"
)

// Open goes into an object or array, which Peek has seen.
func (l *Lexer) Open(kind Kind) error {
	if l.space() != byte(kind) {
		return l.unexpected(kind.String())
	}
	if l.depth++; l.depth > MaxDepth {
		return l.failf("nested more than %d levels deep", MaxDepth)
	}
	l.pos++
	return nil
}

// More tells whether element i of the open object or array follows, and leaves
// it when none does.
func (l *Lexer) More(kind Kind, i int) (bool, error) {
	closing := byte(']')
	if kind == Object {
		closing = '}'
	}
	b := l.space()
	if b == closing {
		l.pos++
		l.depth--
		return false, nil
	}
	if i == 0 {
		return true, nil
	}
	if b != ',' {
		return false, l.unexpected("',' or '" + string(closing) + "'")
	}
	l.pos++
	if l.space() == closing {
		return false, l.unexpected("a value")
	}
	return true, nil
}

// Key reads the key of an object's member and its colon. The bytes may be the
// document's own.
func (l *Lexer) Key() ([]byte, error) {
	if l.space() != '"' {
		return nil, l.unexpected("a key in quotes")
	}
	key, err := l.Text()
	if err != nil {
		return nil, err
	}
	if l.space() != ':' {
		return nil, l.unexpected("':'")
	}
	l.pos++
	return key, nil
}

// Fields reads an object: read is called with the index of each known name that
// has a value other than null. Unknown members are passed over; a known one that
// comes twice is Invalid. At most 64 names.
func (l *Lexer) Fields(names []string, read func(i int) error) error {
	if err := l.Open(Object); err != nil {
		return err
	}
	seen := uint64(0)
	for i := 0; ; i++ {
		more, err := l.More(Object, i)
		if err != nil || !more {
			return err
		}
		key, err := l.Key()
		if err != nil {
			return err
		}
		field := indexOf(names, key)
		if field >= 0 {
			if seen&(1<<field) != 0 {
				return failure.New(failure.Invalid, "%q is given twice", names[field])
			}
			seen |= 1 << field
		}
		if err := l.field(field, read); err != nil {
			return err
		}
	}
}

func (l *Lexer) field(field int, read func(i int) error) error {
	kind, err := l.Peek()
	if err != nil {
		return err
	}
	if field < 0 || kind == Null {
		return l.Skip()
	}
	return read(field)
}

func indexOf(names []string, key []byte) int {
	for i, name := range names {
		if bytes.Equal(key, []byte(name)) {
			return i
		}
	}
	return -1
}

// Skip passes over one value, checking it.
func (l *Lexer) Skip() error {
	kind, err := l.Peek()
	if err != nil {
		return err
	}
	switch kind {
	case Object:
		return l.Fields(nil, nil)
	case Array:
		return l.skipArray()
	case String:
		return l.skipText()
	case Number:
		_, err = l.Number()
	case Bool:
		_, err = l.Bool()
	case Null:
		err = l.word("null")
	}
	return err
}

func (l *Lexer) skipArray() error {
	if err := l.Open(Array); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := l.More(Array, i)
		if err != nil || !more {
			return err
		}
		if err := l.Skip(); err != nil {
			return err
		}
	}
}
