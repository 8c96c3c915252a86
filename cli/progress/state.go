package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"triptych/cli/style"
)

// Part is some of what there is, by what became of it.
type Part struct {
	N     int64
	Name  string
	Color style.Color
}

// State is how far something has come.
type State struct {
	// Total is how much there is; 0 is not known, and then there is no bar.
	Total int64
	// Parts are what is done. A part without a name is only drawn.
	Parts []Part
	// Details are shown behind as far as there is room.
	Details []string
}

// Widths of a bar, in characters.
const (
	leastBar = 4
	mostBar  = 40
)

// Bar is the state in so many columns and no more. The bar has the room that the
// words leave.
func (s State) Bar(columns int, paint style.Style) string {
	head := s.head()
	room := columns - utf8.RuneCountInString(head)
	if room < 0 {
		return string([]rune(head)[:max(columns, 0)])
	}
	var tail strings.Builder
	for _, d := range s.details() {
		width := utf8.RuneCountInString(d) + 2
		if width > room {
			break
		}
		room -= width
		tail.WriteString("  " + d)
	}
	if s.Total <= 0 || room <= leastBar {
		return head + tail.String()
	}
	return s.blocks(min(room-1, mostBar), paint) + " " + head + tail.String()
}

// Line is the state as a line of a log.
func (s State) Line() string {
	return strings.Join(append([]string{s.head()}, s.details()...), ", ")
}

func (s State) done() int64 {
	var n int64
	for _, p := range s.Parts {
		n += p.N
	}
	return n
}

func (s State) head() string {
	if s.Total <= 0 {
		return strconv.FormatInt(s.done(), 10)
	}
	return fmt.Sprintf("%d/%d %d%%", s.done(), s.Total, s.done()*100/s.Total)
}

// details are the parts that have a name, and what else is known.
func (s State) details() []string {
	var all []string
	for _, p := range s.Parts {
		if p.N > 0 && p.Name != "" {
			all = append(all, fmt.Sprintf("%d %s", p.N, p.Name))
		}
	}
	return append(all, s.Details...)
}

// blocks draws the parts one after another.
func (s State) blocks(width int, paint style.Style) string {
	var b strings.Builder
	var done int64
	from := 0
	for _, p := range s.Parts {
		done += p.N
		to := min(int(done*int64(width)/s.Total), width)
		if to > from {
			b.WriteString(paint.Paint(p.Color, strings.Repeat("█", to-from)))
			from = to
		}
	}
	return b.String() + strings.Repeat("░", width-from)
}

// A rate is believed when so much was done at it: a part of the whole, or so many
// seconds' worth. Before, it jumps.
const (
	steadyPart    = 0.05
	steadySeconds = 10
)

// Left says how long n more will take at a rate a second; empty when nobody knows, or
// too little is done to know.
func Left(done, n int64, rate float64) string {
	if n <= 0 || rate <= 0 || float64(n)/rate > float64(1000*time.Hour/time.Second) {
		return ""
	}
	if float64(done) < steadyPart*float64(done+n) && float64(done) < steadySeconds*rate {
		return ""
	}
	return Round(time.Duration(float64(n)/rate*float64(time.Second))) + " left"
}

// Round is a duration as people say it.
func Round(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
}

// Bytes is a size as people say it.
func Bytes(n int64) string {
	value, unit := float64(n), 0
	units := []string{"B", "kB", "MB", "GB", "TB"}
	for value >= 1000 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
