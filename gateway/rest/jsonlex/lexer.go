// Package jsonlex reads JSON from memory, token by token, without allocating and
// without a detour of numbers through float64. It is strict: RFC 8259 and valid
// UTF-8 only, at most MaxDepth levels deep. It builds no values.
package jsonlex

import (
	"fmt"

	"triptych/shared/failure"
)

// MaxDepth bounds how deep arrays and objects may be nested.
const MaxDepth = 100

// Kind is what a value begins with: '{', '[', '"', '0' for a number, 't' for
// true and false, 'n' for null.
type Kind byte

// The kinds of values.
const (
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	Bool   Kind = 't'
	Null   Kind = 'n'
)

// String names a kind for messages.
func (k Kind) String() string {
	switch k {
	case Object:
		return "an object"
	case Array:
		return "a list"
	case String:
		return "a text"
	case Number:
		return "a number"
	case Bool:
		return "true or false"
	case Null:
		return "null"
	default:
		return fmt.Sprintf("%q", byte(k))
	}
}

// Lexer is a position in a document. Its errors are Invalid and give the byte.
// Not for concurrent use.
type Lexer struct {
	data  []byte
	pos   int
	depth int
}

// New starts at the beginning of a document.
func New(data []byte) *Lexer { return &Lexer{data: data} }

// At is a lexer over the same document at an offset that Offset gave.
func (l *Lexer) At(offset int) *Lexer { return &Lexer{data: l.data, pos: offset, depth: l.depth} }

// Offset is the byte at which the next token is looked for.
func (l *Lexer) Offset() int { return l.pos }

// Left is how many bytes of the document have not been read.
func (l *Lexer) Left() int { return len(l.data) - l.pos }

func (l *Lexer) failf(format string, args ...any) error {
	return failure.New(failure.Invalid, "JSON, byte %d: %s", l.pos, fmt.Sprintf(format, args...))
}

func (l *Lexer) unexpected(wanted string) error {
	if l.pos >= len(l.data) {
		return l.failf("the document ends where %s should be", wanted)
	}
	return l.failf("%q where %s should be", l.data[l.pos], wanted)
}

// space passes over blanks and gives the byte after them, 0 at the end.
func (l *Lexer) space() byte {
	for l.pos < len(l.data) {
		switch b := l.data[l.pos]; b {
		case ' ', '\t', '\n', '\r':
			l.pos++
		default:
			return b
		}
	}
	return 0
}

// Peek tells what the next value is, without reading it.
func (l *Lexer) Peek() (Kind, error) {
	switch b := l.space(); b {
	case '{', '[', '"', 'n', 't':
		return Kind(b), nil
	case 'f':
		return Bool, nil
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return Number, nil
	default:
		return 0, l.unexpected("a value")
	}
}

// Expect is an error that calls the value by its name unless the next value is
// of a kind.
func (l *Lexer) Expect(want Kind, name string) error {
	kind, err := l.Peek()
	if err != nil {
		return err
	}
	if kind != want {
		return failure.New(failure.Invalid, "%s must be %s, not %s", name, want, kind)
	}
	return nil
}

// End is an error when anything but blanks follows.
func (l *Lexer) End() error {
	if l.space() != 0 || l.pos < len(l.data) {
		return l.failf("%d bytes are left after the document", l.Left())
	}
	return nil
}
