// Package threshold is what a load test must keep, such as "p99 < 200ms". It
// judges results and measures nothing.
package threshold

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"triptych/loadtest/measure"
	"triptych/shared/failure"
)

// Threshold is one condition. Its zero value keeps nothing; Parse makes one.
type Threshold struct {
	text    string
	metric  metric
	compare string
	bound   float64
	unit    unit
}

// Verdict is a Threshold and what came of it.
type Verdict struct {
	// Text is the condition as it was written.
	Text string
	// Measured is the value with its unit.
	Measured string
	// Met tells whether the condition holds.
	Met bool
}

// Facts are what is judged.
type Facts struct {
	Result measure.Result
	// Percentile is the latency that so many percent of the answers don't exceed.
	Percentile func(percent float64) time.Duration
}

// unit is what a value is counted in.
type unit int

const (
	count unit = iota
	percent
	duration
	perSecond
)

// operators, the longer first.
func operators() []string { return []string{"<=", ">=", "==", "!=", "<", ">"} }

// Parse reads METRIC OPERATOR VALUE, such as "p99 < 200ms", "errors < 0.1%",
// "throughput >= 100" or "wrong == 0". An error is of Kind Invalid.
func Parse(text string) (Threshold, error) {
	wrong := func(format string, args ...any) (Threshold, error) {
		return Threshold{}, failure.New(failure.Invalid, "threshold %q: %s", text, fmt.Sprintf(format, args...))
	}
	for _, operator := range operators() {
		name, value, found := strings.Cut(text, operator)
		if !found {
			continue
		}
		t := Threshold{text: strings.Join(strings.Fields(text), " "), compare: operator}
		var err error
		if t.metric, err = metricNamed(strings.TrimSpace(name)); err != nil {
			return wrong("%s", err)
		}
		if t.bound, t.unit, err = t.metric.value(strings.TrimSpace(value)); err != nil {
			return wrong("%s", err)
		}
		return t, nil
	}
	return wrong("must be like p99 < 200ms, with one of %s", strings.Join(operators(), " "))
}

// String is the condition.
func (t Threshold) String() string { return t.text }

// AboutErrors tells whether the condition says what errors are allowed.
func (t Threshold) AboutErrors() bool { return t.metric.faults }

// AboutLatency tells whether the condition bounds a latency from above.
func (t Threshold) AboutLatency() bool {
	return t.unit == duration && strings.HasPrefix(t.compare, "<")
}

// LatencyBound is the percentile of a condition about one, and its bound. It is
// false for others.
func (t Threshold) LatencyBound() (percentile float64, bound time.Duration, ok bool) {
	return t.metric.percentile, time.Duration(t.bound), t.AboutLatency() && t.metric.percentile > 0
}

// Judge holds facts against the condition. Without any answer no condition about
// latency or throughput is met, and without any request none about a part of them.
func (t Threshold) Judge(f Facts) Verdict {
	switch {
	case (t.unit == duration || t.unit == perSecond) && f.Result.Answered == 0:
		return Verdict{t.text, "no answers", false}
	case t.unit == percent && f.Result.Requests() == 0:
		return Verdict{t.text, "no requests", false}
	}
	value := t.metric.measure(f, t.unit)
	return Verdict{t.text, show(value, t.unit), holds(value, t.compare, t.bound)}
}

// All judges each.
func All(list []Threshold, f Facts) []Verdict {
	verdicts := make([]Verdict, len(list))
	for i, t := range list {
		verdicts[i] = t.Judge(f)
	}
	return verdicts
}

// Met tells whether all are met.
func Met(verdicts []Verdict) bool {
	return !slices.ContainsFunc(verdicts, func(v Verdict) bool { return !v.Met })
}

func holds(value float64, operator string, bound float64) bool {
	switch operator {
	case "<":
		return value < bound
	case "<=":
		return value <= bound
	case ">":
		return value > bound
	case ">=":
		return value >= bound
	case "==":
		return value == bound
	default:
		return value != bound
	}
}

func show(value float64, u unit) string {
	switch u {
	case duration:
		return time.Duration(value).Round(10 * time.Microsecond).String()
	case percent:
		return fmt.Sprintf("%.3g%%", value)
	case perSecond:
		return fmt.Sprintf("%.1f/s", value)
	default:
		return strconv.FormatFloat(math.Round(value), 'f', 0, 64)
	}
}
