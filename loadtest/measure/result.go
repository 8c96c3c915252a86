package measure

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Result is what a Recorder has counted up to some moment.
type Result struct {
	Elapsed time.Duration
	// Answered are good answers; with the errors and those abandoned and in
	// flight they make up all requests.
	Answered, Errors, Abandoned, InFlight int64
	// Items are what the good answers were about: more than Answered for jobs.
	Items          int64
	Sent, Received int64
	// Faults are the errors by kind, the most frequent first.
	Faults []FaultCount
	// Latency is that of good answers. Lateness is how long after its due time
	// the generator sent a request.
	Latency, Lateness Spread
}

// Requests is how many were due: answered, failed or abandoned.
func (r Result) Requests() int64 { return r.Answered + r.Errors + r.Abandoned }

// Whole is an error where not every request was answered.
func (r Result) Whole() error {
	switch {
	case r.Errors > 0:
		f := r.Faults[0]
		return fmt.Errorf("%d of %d requests failed, most of them with %s: %s", r.Errors, r.Requests(), f.Kind, f.Example)
	case r.Answered == 0:
		return errors.New("there were no answers")
	default:
		return nil
	}
}

// Throughput is good answers a second.
func (r Result) Throughput() float64 { return PerSecond(r.Answered, r.Elapsed) }

// PerSecond is how many of n things came in a second; 0 without any time.
func PerSecond(n int64, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return float64(n) / in.Seconds()
}

// Spread is a distribution of Count values in a few numbers. All are 0 when there
// are none.
type Spread struct {
	Count                                    int64
	Min, Mean, P50, P90, P95, P99, P999, Max time.Duration
}

// Tells tells whether a percentile says something: at least one value lies behind it.
func (s Spread) Tells(percent float64) bool { return Tells(percent, s.Count) }

// At is the percentile 50, 90, 95, 99 or 99.9; false where no value lies behind it.
func (s Spread) At(percent float64) (value time.Duration, tells bool) {
	switch percent {
	case 50:
		value = s.P50
	case 90:
		value = s.P90
	case 95:
		value = s.P95
	case 99:
		value = s.P99
	case 99.9:
		value = s.P999
	default:
		return 0, false
	}
	return value, s.Tells(percent)
}

// Tells tells whether a percentile of so many values has at least one behind it.
func Tells(percent float64, count int64) bool {
	const rounding = 1e-9 // 100 - 99.9 is slightly less than 0.1
	return percent < 100 && float64(count)*(100-percent) >= 100*(1-rounding)
}

// Result sums up what has happened until now.
func (r *Recorder) Result() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := Result{
		Elapsed:  time.Since(r.began),
		Answered: r.answered, Items: r.items, Abandoned: r.abandoned, InFlight: r.inFlight,
		Sent: r.sent, Received: r.received,
		Faults:  make([]FaultCount, 0, len(r.faults)),
		Latency: r.latency.spread(), Lateness: r.lateness.spread(),
	}
	for _, f := range r.faults {
		result.Errors += f.Count
		f.Latency = f.latency.spread()
		result.Faults = append(result.Faults, f.FaultCount)
	}
	slices.SortFunc(result.Faults, func(a, b FaultCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind))
	})
	return result
}

func (d *distribution) spread() Spread {
	n := d.histogram.TotalCount()
	if n == 0 {
		return Spread{}
	}
	return Spread{
		Count: n,
		Min:   d.least, Mean: d.sum / time.Duration(n), Max: d.most,
		P50: d.at(50), P90: d.at(90), P95: d.at(95), P99: d.at(99), P999: d.at(99.9),
	}
}

// Percentile is a point of a distribution: Latency is not exceeded by Percent of
// Count requests.
type Percentile struct {
	Percent float64
	Latency time.Duration
	Count   int64
}

// percentileTicks is how many points there are on the way from one percentile
// halfway to 100, as in the plots of HdrHistogram.
const percentileTicks = 5

// Intervals are those of the recorder's timeline until now.
func (r *Recorder) Intervals() []Interval { return r.timeline.Intervals() }

// Percentiles are the distribution of the latencies of good answers, from 0 to
// 100 percent, ever closer to each other. None without answers.
func (r *Recorder) Percentiles() []Percentile {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := &r.latency
	if d.histogram.TotalCount() == 0 {
		return nil
	}
	brackets := d.histogram.CumulativeDistributionWithTicks(percentileTicks)
	points := make([]Percentile, 0, len(brackets))
	for _, b := range brackets {
		points = append(points, Percentile{Percent: b.Quantile, Latency: d.within(b.ValueAt), Count: b.Count})
	}
	return points
}
