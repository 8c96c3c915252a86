package jsonlex

import (
	"math"
	"strconv"
)

// Bool reads true or false.
func (l *Lexer) Bool() (bool, error) {
	if l.space() == 't' {
		return true, l.word("true")
	}
	return false, l.word("false")
}

// Null reads null.
func (l *Lexer) Null() error {
	l.space()
	return l.word("null")
}

func (l *Lexer) word(w string) error {
	end := l.pos + len(w)
	if end > len(l.data) || string(l.data[l.pos:end]) != w {
		return l.unexpected(w)
	}
	l.pos = end
	return nil
}

// Number reads a number's text, which is the document's own bytes.
func (l *Lexer) Number() ([]byte, error) {
	l.space()
	start := l.pos
	if l.byteIs('-') {
		l.pos++
	}
	if l.byteIs('0') {
		l.pos++
	} else if err := l.digits(); err != nil {
		return nil, err
	}
	if l.byteIs('.') {
		l.pos++
		if err := l.digits(); err != nil {
			return nil, err
		}
	}
	if l.byteIs('e') || l.byteIs('E') {
		l.pos++
		if l.byteIs('+') || l.byteIs('-') {
			l.pos++
		}
		if err := l.digits(); err != nil {
			return nil, err
		}
	}
	return l.data[start:l.pos], nil
}

func (l *Lexer) byteIs(b byte) bool { return l.pos < len(l.data) && l.data[l.pos] == b }

func (l *Lexer) digits() error {
	start := l.pos
	for l.pos < len(l.data) && l.data[l.pos]-'0' <= 9 {
		l.pos++
	}
	if l.pos == start {
		return l.unexpected("a digit")
	}
	return nil
}

// Whole reads a number that is whole, such as 3, 3.0 or 3e2, exactly: its sign
// and its magnitude. Others, and those beyond 64 bits, are not ok; text is the
// number as it stands.
func (l *Lexer) Whole() (negative bool, magnitude uint64, text []byte, ok bool, err error) {
	l.space()
	start := l.pos
	if negative = l.byteIs('-'); negative {
		l.pos++
	}
	digits := l.pos
	for l.pos < len(l.data) && l.data[l.pos]-'0' <= 9 {
		magnitude = magnitude*10 + uint64(l.data[l.pos]-'0')
		l.pos++
	}
	// Nineteen digits can't overflow; a leading zero and whatever follows a number
	// other than its end take the slow way, which also finds what is wrong.
	n := l.pos - digits
	if n >= 1 && n <= 19 && (n == 1 || l.data[digits] != '0') && !l.byteIs('.') && !l.byteIs('e') && !l.byteIs('E') {
		return negative, magnitude, l.data[start:l.pos], true, nil
	}
	l.pos = start
	if text, err = l.Number(); err != nil {
		return false, 0, nil, false, err
	}
	magnitude, ok = wholeDecimal(text)
	return negative, magnitude, text, ok, nil
}

// wholeDecimal is the magnitude of a decimal number without a detour through
// floating point.
func wholeDecimal(text []byte) (uint64, bool) {
	mantissa, fraction := make([]byte, 0, 24), 0
	point := false
	for i, b := range text {
		switch {
		case b == '.':
			point = true
		case b == 'e' || b == 'E':
			return scale(mantissa, exponentOf(text[i+1:])-fraction)
		case b >= '0' && b <= '9':
			mantissa = append(mantissa, b)
			if point {
				fraction++
			}
		}
	}
	return scale(mantissa, -fraction)
}

// exponentOf is the value of an exponent, or something as far away when no int
// holds it: only zero is whole then.
func exponentOf(text []byte) int {
	e, err := strconv.Atoi(string(text))
	if err == nil {
		return min(max(e, math.MinInt32), math.MaxInt32)
	}
	if text[0] == '-' {
		return math.MinInt32
	}
	return math.MaxInt32
}

func scale(mantissa []byte, exponent int) (uint64, bool) {
	for len(mantissa) > 0 && mantissa[0] == '0' {
		mantissa = mantissa[1:]
	}
	for len(mantissa) > 0 && mantissa[len(mantissa)-1] == '0' {
		mantissa = mantissa[:len(mantissa)-1]
		exponent++
	}
	const most = 20 // digits of the greatest uint64
	if len(mantissa) == 0 {
		return 0, true
	}
	if exponent < 0 || exponent > most || len(mantissa)+exponent > most {
		return 0, false
	}
	for range exponent {
		mantissa = append(mantissa, '0')
	}
	n, err := strconv.ParseUint(string(mantissa), 10, 64)
	return n, err == nil
}

// Int64 reads a whole number that fits; others are not ok.
func (l *Lexer) Int64() (value int64, text []byte, ok bool, err error) {
	negative, magnitude, text, ok, err := l.Whole()
	value, fits := Signed(negative, magnitude)
	return value, text, ok && fits, err
}

// Signed puts a sign and a magnitude together, if an int64 can hold them.
func Signed(negative bool, magnitude uint64) (int64, bool) {
	if negative {
		return -int64(magnitude), magnitude <= 1<<63
	}
	return int64(magnitude), magnitude <= math.MaxInt64
}
