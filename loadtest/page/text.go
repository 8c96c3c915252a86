package page

import (
	"math"
	"strconv"
	"strings"
	"time"

	"triptych/loadtest/measure"
)

// none stands for a number that there is not.
const none = "–"

// latency is a time with three significant digits and a unit that suits it.
func latency(d time.Duration) string {
	switch {
	case d == 0:
		return "0 ms"
	case d >= time.Second:
		return digits(d.Seconds()) + " s"
	case d < time.Millisecond:
		return digits(float64(d)/float64(time.Microsecond)) + " µs"
	default:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	}
}

// past is a percentile of a spread as its text, none where no value lies behind it.
func past(s measure.Spread, percent float64, text func(time.Duration) string) string {
	if value, tells := s.At(percent); tells {
		return text(value)
	}
	return none
}

// milliseconds is a time for a column of them.
func milliseconds(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return digits(float64(d) / float64(time.Millisecond))
}

// digits is a number with three significant digits.
func digits(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return none
	}
	if math.Abs(v) < negligible {
		return "0"
	}
	places := max(2-int(math.Floor(math.Log10(math.Abs(v)))), 0)
	return strconv.FormatFloat(v, 'f', min(places, mostPlaces), 64)
}

// mostPlaces bounds the digits behind the point: what comes after them is noise.
const (
	mostPlaces = 3
	negligible = 0.0005
)

// plain is a number as a person would write it.
func plain(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// whole is a number with its thousands apart.
func whole(n int64) string {
	text := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, c := range text {
		if left := len(text) - i; i > 0 && left%3 == 0 && text[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// share is n of total in percent.
func share(n, total int64) string {
	switch {
	case total == 0:
		return none
	case n == 0:
		return "0 %"
	default:
		return digits(100*float64(n)/float64(total)) + " %"
	}
}

// size is a number of bytes.
func size(n int64) string {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	v := float64(n)
	switch abs := math.Abs(v); {
	case abs >= gib:
		return digits(v/gib) + " GiB"
	case abs >= mib:
		return digits(v/mib) + " MiB"
	case abs >= kib:
		return digits(v/kib) + " KiB"
	default:
		return strconv.FormatInt(n, 10) + " B"
	}
}

// numeric tells whether a table's cell is a number, which stands on the right.
func numeric(cell string) bool {
	if cell == "" || cell == none || cell == "-" {
		return true
	}
	first := strings.TrimLeft(cell, "+-<>=≤≥ ")
	return first != "" && first[0] >= '0' && first[0] <= '9' && len(cell) < 24
}
