package threshold

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"triptych/loadtest/measure"
)

// metric is what a condition is about.
type metric struct {
	name string
	// kind is a count, a duration or a rate. Counts may be given in percent of the
	// requests.
	kind unit
	// percentile is that of a latency, else 0.
	percentile float64
	// faults are those about errors.
	faults bool
	get    func(Facts) float64
}

// metrics are all but the percentiles.
func metrics() []metric {
	return []metric{
		{name: "throughput", kind: perSecond, get: func(f Facts) float64 { return f.Result.Throughput() }},
		{name: "items", kind: perSecond, get: func(f Facts) float64 { return measure.PerSecond(f.Result.Items, f.Result.Elapsed) }},
		{name: "requests", kind: count, get: func(f Facts) float64 { return float64(f.Result.Requests()) }},
		{name: "answered", kind: count, get: func(f Facts) float64 { return float64(f.Result.Answered) }},
		{name: "errors", kind: count, faults: true, get: func(f Facts) float64 { return float64(f.Result.Errors) }},
		{name: "wrong", kind: count, get: faults(func(kind string) bool { return kind == measure.WrongAnswer })},
		{name: "timeouts", kind: count, get: faults(func(kind string) bool { return kind == measure.Timeout })},
		{name: "overruns", kind: count, get: faults(func(kind string) bool { return kind == measure.Overrun })},
		{name: "refused", kind: count, get: faults(refused)},
		{name: "min", kind: duration, get: func(f Facts) float64 { return float64(f.Result.Latency.Min) }},
		{name: "mean", kind: duration, get: func(f Facts) float64 { return float64(f.Result.Latency.Mean) }},
		{name: "max", kind: duration, get: func(f Facts) float64 { return float64(f.Result.Latency.Max) }},
	}
}

// refused is a server that says that it is full.
func refused(kind string) bool {
	return strings.HasPrefix(kind, "HTTP 429") || strings.HasPrefix(kind, "gRPC RESOURCE_EXHAUSTED")
}

func faults(which func(kind string) bool) func(Facts) float64 {
	return func(f Facts) float64 {
		var n int64
		for _, fault := range f.Result.Faults {
			if which(fault.Kind) {
				n += fault.Count
			}
		}
		return float64(n)
	}
}

// Names are those of all metrics, for help and messages.
func Names() string {
	all := metrics()
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.name
	}
	return "p50, p99, p99.9 (any percentile), " + strings.Join(names, ", ")
}

func metricNamed(name string) (metric, error) {
	if i := slices.IndexFunc(metrics(), func(m metric) bool { return m.name == name }); i >= 0 {
		return metrics()[i], nil
	}
	if number, isPercentile := strings.CutPrefix(name, "p"); isPercentile {
		if p, err := strconv.ParseFloat(number, 64); err == nil && p > 0 && p < 100 {
			return metric{name: name, kind: duration, percentile: p, get: func(f Facts) float64 { return float64(f.Percentile(p)) }}, nil
		}
	}
	return metric{}, fmt.Errorf("there is no metric %q: choose from %s", name, Names())
}

// value reads a bound and says what it is counted in.
func (m metric) value(text string) (float64, unit, error) {
	if m.kind == duration {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return 0, 0, fmt.Errorf("%s is a time: %q must be like 200ms", m.name, text)
		}
		return float64(d), duration, nil
	}
	number, inPercent := strings.CutSuffix(text, "%")
	number, isRate := strings.CutSuffix(number, "/s")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
		return 0, 0, fmt.Errorf("%q is no number", text)
	case inPercent && (m.kind != count || m.name == "requests"):
		return 0, 0, errors.New(m.name + " is no part of the requests: it has no percent")
	case isRate && m.kind != perSecond:
		return 0, 0, errors.New(m.name + " is no rate")
	case inPercent:
		return v, percent, nil
	default:
		return v, m.kind, nil
	}
}

// measure is the value in the unit of the bound. There must be requests for a part
// of them.
func (m metric) measure(f Facts, u unit) float64 {
	v := m.get(f)
	if u == percent {
		return 100 * v / float64(f.Result.Requests())
	}
	return v
}
