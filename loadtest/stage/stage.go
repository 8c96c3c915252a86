// Package stage runs one stretch of load: a warm-up of a fixed time or until the
// server is steady, then a measurement, which is held against conditions. It does
// not choose the load.
package stage

import (
	"fmt"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/threshold"
	"triptych/loadtest/workload"
)

// Stage is what to do.
type Stage struct {
	// Name is what reports call it.
	Name string
	// Concurrency above 0 is a closed loop with so many requests in flight; else
	// Arrivals is an open one.
	Concurrency int
	Arrivals    load.Arrivals
	// Duration and Requests end it, whichever comes first; 0 for no such end.
	Duration time.Duration
	Requests int64
	// Timeout bounds one request.
	Timeout time.Duration
	Warmup  Warmup
	// Thresholds are what the measurement must keep.
	Thresholds []threshold.Threshold
}

// Warmup is what comes before a measurement.
type Warmup struct {
	// Duration is a fixed time; with Auto the longest time until it is given up.
	Duration time.Duration
	// Auto goes on until the server is steady, by the rule of package steady.
	Auto bool
	// Window is what Auto looks at: each has that time, or as much more as it takes
	// to have some answers.
	Window time.Duration
}

// The defaults of a stage: of a request's time, of the requests at once of an open
// loop, and of an automatic warm-up.
const (
	Timeout     = 30 * time.Second
	Outstanding = 1000
	AutoMost    = time.Minute
	AutoWindow  = 500 * time.Millisecond
)

// Automatic is the usual automatic warm-up.
func Automatic() Warmup { return Warmup{Duration: AutoMost, Auto: true, Window: AutoWindow} }

// Open tells whether the stage is an open loop.
func (s Stage) Open() bool { return s.Concurrency == 0 }

// WarmupName is what reports call what comes before the stage.
func (s Stage) WarmupName() string {
	if s.Name == "" {
		return "warm-up"
	}
	return s.Name + " (warm-up)"
}

// InFlight is the greatest number of requests at once.
func (s Stage) InFlight() int {
	if s.Open() {
		return s.Arrivals.MaxOutstanding
	}
	return s.Concurrency
}

// Describe is the load in a line.
func (s Stage) Describe() string {
	if !s.Open() {
		return fmt.Sprintf("closed loop, %d in flight", s.Concurrency)
	}
	a := s.Arrivals
	rate := fmt.Sprintf("%g", a.Rate)
	if a.Ramp {
		rate = fmt.Sprintf("from %g to %g", a.Rate, a.Until)
	}
	spacing := ""
	if a.Even {
		spacing = " at even distances"
	}
	return fmt.Sprintf("open loop, %s requests a second%s, at most %d in flight", rate, spacing, a.MaxOutstanding)
}

// Result is what came of a stage.
type Result struct {
	Stage Stage
	// Started is when its warm-up began, Began when its measurement did.
	Started, Began time.Time
	// Warmup is what came before and is not counted in Result.
	Warmup Warmed
	Result measure.Result
	// Corrected is the latency of a closed loop as it would be without coordinated
	// omission; nothing for an open one, which has none.
	Corrected measure.Spread
	// Parts are the results by sort of request, if there are several.
	Parts []workload.Part
	// CPU is what the generator itself used while Result was measured.
	CPU time.Duration
	// Verdicts are those of the stage's thresholds.
	Verdicts []threshold.Verdict
	// Interrupted is set when the stage was ended early by the caller.
	Interrupted bool
	// GivenUp is set when Hopeless ended the measurement: all else is of a part of it.
	GivenUp bool
	// Intervals are the measurement over time, Percentiles its distribution.
	Intervals   []measure.Interval
	Percentiles []measure.Percentile
	// Percentile is the latency that so many percent of the answers don't exceed.
	Percentile func(percent float64) time.Duration
}

// Warmed is what came of a warm-up.
type Warmed struct {
	Result measure.Result
	// Note says why an automatic warm-up was given up; empty when it became steady.
	Note string
}

// Facts are the result for thresholds.
func (r Result) Facts() threshold.Facts {
	return threshold.Facts{Result: r.Result, Percentile: r.Percentile}
}

// Met tells whether all thresholds of the stage were met.
func (r Result) Met() bool { return threshold.Met(r.Verdicts) }

// Stalled tells whether a closed loop hid so much that its p99 should not be
// believed: the corrected one is more than twice as long.
func (r Result) Stalled() bool {
	return r.Corrected.P99 > 2*r.Result.Latency.P99 && r.Result.Latency.P99 > 0
}
