// Package progress shows how far something has come: a bar that moves in a
// terminal, and a line now and then elsewhere. It measures nothing itself.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"triptych/cli/style"
)

const (
	// drawEvery bounds how often a bar is drawn.
	drawEvery = 100 * time.Millisecond
	// lineEvery is how often a line is written where there is no terminal; what is over
	// sooner writes none.
	lineEvery = 5 * time.Second
)

// Bar is one bar. Safe for concurrent use.
type Bar struct {
	w        io.Writer
	style    style.Style
	terminal bool

	mu    sync.Mutex
	drawn bool // there is a bar in the terminal's last line
	last  time.Time
	text  string
}

// New makes a bar for an output.
func New(w io.Writer) *Bar {
	return &Bar{w: w, style: style.For(w), terminal: style.Terminal(w), last: time.Now()}
}

// Show shows a state; those that come too fast are left out.
func (b *Bar) Show(s State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.terminal {
		b.draw(s)
		return
	}
	text := s.Line()
	if time.Since(b.last) < lineEvery || text == b.text {
		return
	}
	b.last, b.text = time.Now(), text
	fmt.Fprintln(b.w, text)
}

// draw puts the bar in the place of the last one. The width is asked for each time,
// for terminals change theirs.
func (b *Bar) draw(s State) {
	if b.drawn && time.Since(b.last) < drawEvery {
		return
	}
	b.drawn, b.last = true, time.Now()
	fmt.Fprint(b.w, "\r"+s.Bar(style.Columns(b.w)-1, b.style)+"\x1b[K")
}

// Note writes a line that stays, above the bar.
func (b *Bar) Note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	fmt.Fprintln(b.w, text)
}

// Clear takes the bar away.
func (b *Bar) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
}

func (b *Bar) clear() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	b.drawn = false
}
