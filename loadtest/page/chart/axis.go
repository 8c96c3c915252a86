package chart

import (
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
)

// marks are ticks that have been chosen.
type marks []plot.Tick

// Ticks are the marks, whatever the axis.
func (m marks) Ticks(_, _ float64) []plot.Tick { return m }

// wording makes a tick's text.
type wording func(float64) string

// logTicks is how many marks fit above each other on a logarithmic axis.
const logTicks = 9

// spread is how many times as great the greatest value may be as the least
// before an axis becomes logarithmic.
const spread = 20

// valuesAxis prepares an axis for values from least, the smallest above 0, to
// most. It tells whether the axis is logarithmic.
func valuesAxis(axis *plot.Axis, least, most float64, ticks int, words wording) bool {
	if least > 0 && most/least > spread {
		logarithmic(axis, least, most, logTicks, words)
		return true
	}
	fromZero(axis, most, ticks, words)
	return false
}

// fromZero prepares a linear axis from 0 to a round value that is not below most.
func fromZero(axis *plot.Axis, most float64, ticks int, words wording) {
	step := roundStep(most, ticks)
	n := max(int(math.Ceil(most/step-1e-9)), 1)
	m := make(marks, n+1)
	for i := range m {
		m[i] = plot.Tick{Value: float64(i) * step, Label: words(float64(i) * step)}
	}
	axis.Min, axis.Max, axis.Tick.Marker = 0, float64(n)*step, m
}

// roundStep is 1, 2 or 5 of some power of ten, so that most is at most so many
// steps.
func roundStep(most float64, ticks int) float64 {
	if most <= 0 || math.IsNaN(most) || math.IsInf(most, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most/float64(ticks))))
	for _, digit := range []float64{1, 2, 5} {
		if most/(digit*power) <= float64(ticks) {
			return digit * power
		}
	}
	return 10 * power
}

// logarithmic prepares an axis over decades. All 1, 2 and 5 are labelled where
// there is room, else the decades.
func logarithmic(axis *plot.Axis, least, most float64, ticks int, words wording) {
	var m marks
	for power := math.Floor(math.Log10(least)); power <= math.Ceil(math.Log10(most)); power++ {
		for _, digit := range []float64{1, 2, 5} {
			v := digit * math.Pow(10, power)
			m = append(m, plot.Tick{Value: v, Label: words(v)})
		}
	}
	for len(m) > 2 && m[1].Value <= least {
		m = m[1:]
	}
	for len(m) > 2 && m[len(m)-2].Value >= most {
		m = m[:len(m)-1]
	}
	axis.Min, axis.Max, axis.Scale = m[0].Value, m[len(m)-1].Value, plot.LogScale{}
	axis.Tick.Marker = thinned(m, ticks)
}

// thinned leaves the decades when there are too many marks.
func thinned(m marks, ticks int) marks {
	if len(m) <= ticks+1 {
		return m
	}
	var left marks
	for _, tick := range m {
		if power := math.Log10(tick.Value); math.Abs(power-math.Round(power)) < 1e-6 {
			left = append(left, tick)
		}
	}
	return left
}

// timeSteps are the distances of marks on an axis of time.
func timeSteps() []time.Duration {
	return []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour,
	}
}

// timeAxis prepares an axis in seconds since the start.
func timeAxis(axis *plot.Axis, end time.Duration, ticks int) {
	end = max(end, 100*time.Millisecond)
	steps := timeSteps()
	step := steps[0]
	for _, step = range steps {
		if end <= step*time.Duration(ticks) {
			break
		}
	}
	if most := int64(end/step) / int64(ticks); most > 1 { // a test of weeks
		step = time.Duration(int64(step) * most)
	}
	var m marks
	for at := time.Duration(0); at <= end; at += step {
		m = append(m, plot.Tick{Value: at.Seconds(), Label: clock(at)})
	}
	axis.Min, axis.Max, axis.Tick.Marker = 0, end.Seconds(), m
}

// clock is a time since the start, such as "1.5 s", "12 s" or "2:30".
func clock(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < 2*time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + ":" + pair(int(d%time.Minute/time.Second))
	default:
		return strconv.Itoa(int(d/time.Hour)) + ":" + pair(int(d%time.Hour/time.Minute)) + ":" + pair(int(d%time.Minute/time.Second))
	}
}

// pair is a number with two digits.
func pair(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// milliseconds words a latency in milliseconds with a unit that suits it.
func milliseconds(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 1000:
		return short(v/1000) + " s"
	case v < 1:
		return short(v*1000) + " µs"
	default:
		return short(v) + " ms"
	}
}

// count words a number of things.
func count(v float64) string {
	switch {
	case v >= 1e7:
		return short(v/1e6) + "M"
	case v >= 1e4:
		return short(v/1e3) + "k"
	default:
		return short(v)
	}
}

// times words a ratio.
func times(v float64) string { return short(v) + "×" }

// percent words a share of 1.
func percent(v float64) string { return short(v*100) + " %" }

// short is a number to three significant digits, without zeros at its end.
func short(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	text := strconv.FormatFloat(v, 'g', 3, 64)
	if strings.ContainsRune(text, 'e') {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return text
}
