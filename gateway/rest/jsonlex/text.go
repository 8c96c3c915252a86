package jsonlex

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Text reads a string. The bytes are the document's own unless it had escapes.
// Invalid UTF-8, bare control characters and half surrogates are refused.
func (l *Lexer) Text() ([]byte, error) {
	if l.space() != '"' {
		return nil, l.unexpected("a text")
	}
	l.pos++
	start := l.pos
	if err := l.plain(); err != nil {
		return nil, err
	}
	if l.data[l.pos] == '"' {
		l.pos++
		return l.data[start : l.pos-1 : l.pos-1], nil
	}
	text := append([]byte(nil), l.data[start:l.pos]...)
	for l.data[l.pos] == '\\' {
		r, err := l.escape()
		if err != nil {
			return nil, err
		}
		text = utf8.AppendRune(text, r)
		start = l.pos
		if err := l.plain(); err != nil {
			return nil, err
		}
		text = append(text, l.data[start:l.pos]...)
	}
	l.pos++
	return text, nil
}

// skipText passes over a string without a copy of it.
func (l *Lexer) skipText() error {
	l.pos++
	for {
		if err := l.plain(); err != nil {
			return err
		}
		if l.data[l.pos] == '"' {
			l.pos++
			return nil
		}
		if _, err := l.escape(); err != nil {
			return err
		}
	}
}

// plain passes over what stands for itself, to a quote or a backslash.
func (l *Lexer) plain() error {
	start, ascii := l.pos, byte(0)
	for ; l.pos < len(l.data); l.pos++ {
		b := l.data[l.pos]
		if b == '"' || b == '\\' {
			if ascii >= utf8.RuneSelf && !utf8.Valid(l.data[start:l.pos]) {
				l.pos = start
				return l.failf("a text that is not UTF-8")
			}
			return nil
		}
		if b < ' ' {
			return l.failf("a control character in a text")
		}
		ascii |= b
	}
	return l.unexpected("the end of a text")
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads a backslash and what it stands for.
func (l *Lexer) escape() (rune, error) {
	l.pos++
	if l.pos >= len(l.data) {
		return 0, l.unexpected("an escape")
	}
	b := l.data[l.pos]
	if b == 'u' {
		return l.unicode()
	}
	r, ok := escapes[b]
	if !ok {
		return 0, l.unexpected("an escape")
	}
	l.pos++
	return r, nil
}

func (l *Lexer) unicode() (rune, error) {
	r, err := l.hex()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if !l.byteIs('\\') || l.pos+1 >= len(l.data) || l.data[l.pos+1] != 'u' {
		return 0, l.unexpected("the second half of a surrogate pair")
	}
	l.pos++
	low, err := l.hex()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, l.failf("half a surrogate pair")
	}
	return r, nil
}

// hex reads a 'u' and four hexadecimal digits.
func (l *Lexer) hex() (rune, error) {
	l.pos++
	var r rune
	for range 4 {
		if l.pos >= len(l.data) {
			return 0, l.unexpected("a hexadecimal digit")
		}
		b := l.data[l.pos]
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b >= 'a' && b <= 'f':
			b -= 'a' - 10
		case b >= 'A' && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, l.unexpected("a hexadecimal digit")
		}
		r = r<<4 | rune(b)
		l.pos++
	}
	return r, nil
}
