// Package style colours text for terminals, and only for terminals.
package style

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Color is an ANSI colour.
type Color string

// The colours in use.
const (
	Red     Color = "31"
	Green   Color = "32"
	Yellow  Color = "33"
	Blue    Color = "34"
	Magenta Color = "35"
	Cyan    Color = "36"
)

// Style colours text, or leaves it as it is.
type Style struct{ enabled bool }

// For is the style of an output: coloured when it is a terminal and the
// environment does not object (https://no-color.org).
func For(w io.Writer) Style {
	_, objects := os.LookupEnv("NO_COLOR")
	return Style{!objects && Terminal(w)}
}

// Terminal tells whether an output is a terminal that can do more than print.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// plainColumns is the length of a line that goes to no terminal.
const plainColumns = 120

// Columns is how many characters a line of an output has.
func Columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return plainColumns
}

// Paint colours text.
func (s Style) Paint(c Color, text string) string { return s.wrap(string(c), text) }

// Bold makes text bold.
func (s Style) Bold(text string) string { return s.wrap("1", text) }

func (s Style) wrap(code, text string) string {
	if !s.enabled || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
