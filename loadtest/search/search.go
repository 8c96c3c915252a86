// Package search looks for limits of a server: the highest rate at which
// conditions are kept, and the concurrency from which on throughput grows no more.
// It puts load on nothing itself: a function runs each step.
package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/stage"
	"triptych/loadtest/threshold"
)

// Run runs one stage.
type Run func(ctx context.Context, s stage.Stage) stage.Result

// Step is one try.
type Step struct {
	// Load is the rate, or the concurrency.
	Load   float64
	Result stage.Result
	// Kept tells whether all conditions were kept, or for a capacity whether
	// throughput had grown.
	Kept bool
	// Why says what was not kept.
	Why string
}

// Rate is a search for the highest rate that keeps conditions: it doubles the rate
// until one is not kept, then halves the distance between the highest rate that
// kept them and the lowest that did not.
type Rate struct {
	// From is the first rate, Least and Most the lowest and the highest that are
	// tried.
	From, Least, Most float64
	// Precision ends the search when both rates are as close, as a part of the
	// lower one. Steps end it in any case.
	Precision float64
	Steps     int
	// Tries is how often in a row a rate must fail to count as one that is not kept:
	// with one, a pause of the machine would decide.
	Tries int
	// Stage is run at each rate. Its thresholds are the conditions.
	Stage stage.Stage
	// LongestStep bounds what a step is lengthened to at a low rate, so that the
	// conditions' percentiles have enough requests.
	LongestStep time.Duration
}

// Answer is what a search has found.
type Answer struct {
	// Best is the highest rate that kept the conditions, Worst the lowest that did
	// not; 0 for none.
	Best, Worst float64
	// Steps are all, in their order.
	Steps []Step
	// Interrupted is set when the search was ended early.
	Interrupted bool
}

// Search runs the steps, and tells each as it is done.
func (r Rate) Search(ctx context.Context, run Run, each func(Step)) Answer {
	var a Answer
	rate := min(r.From, r.Most)
	for range r.Steps {
		step, ok := r.tries(ctx, run, rate, func(s Step) {
			a.Steps = append(a.Steps, s)
			each(s)
		})
		if !ok {
			a.Interrupted = true
			return a
		}
		a.take(step)
		if a.Best >= r.Most || a.close(r.Precision) {
			return a
		}
		if rate = a.next(r.Most); rate < r.Least {
			return a
		}
	}
	return a
}

// tries runs a rate until it is kept or has had its tries; it is false when ctx was
// done first.
func (r Rate) tries(ctx context.Context, run Run, rate float64, each func(Step)) (s Step, ok bool) {
	for range max(r.Tries, 1) {
		s = r.step(ctx, run, rate)
		if ctx.Err() != nil {
			return s, false
		}
		if each(s); s.Kept {
			break
		}
	}
	return s, true
}

// take draws the limits closer by a step.
func (a *Answer) take(s Step) {
	switch {
	case s.Kept && s.Load > a.Best:
		a.Best = s.Load
	case !s.Kept && (a.Worst == 0 || s.Load < a.Worst):
		a.Worst = s.Load
	}
}

func (a *Answer) close(precision float64) bool {
	return a.Best > 0 && a.Worst > 0 && a.Worst <= a.Best*(1+precision)
}

// next is the rate to try.
func (a *Answer) next(most float64) float64 {
	switch {
	case a.Worst == 0:
		return min(2*a.Best, most)
	case a.Best == 0:
		return a.Worst / 2
	default:
		return (a.Best + a.Worst) / 2
	}
}

// perTail is how many requests should lie beyond a percentile that is judged.
const perTail = 3

// step runs one rate.
func (r Rate) step(ctx context.Context, run Run, rate float64) Step {
	s := r.Stage
	s.Name = fmt.Sprintf("%.4g/s", rate)
	s.Arrivals.Rate = rate
	s.Duration = r.length(rate)
	result := run(ctx, s)
	step := Step{Load: rate, Result: result, Kept: true}
	for _, v := range result.Verdicts {
		if !v.Met {
			return Step{rate, result, false, fmt.Sprintf("%s was %s", v.Text, v.Measured)}
		}
	}
	if elapsed := result.Result.Elapsed; result.GivenUp { // what it has kept until then says little
		return Step{rate, result, false, fmt.Sprintf("given up after %s", elapsed.Round(time.Millisecond))}
	}
	// A queue that grew is answered after the last request was due.
	if late := result.Result.Elapsed - s.Duration; late > s.Duration/10 {
		step.Kept, step.Why = false, fmt.Sprintf("a backlog grew: the last answer came %s after the end", late.Round(time.Millisecond))
	}
	return step
}

// length is how long a step takes: longer at a low rate.
func (r Rate) length(rate float64) time.Duration {
	length := r.Stage.Duration
	for _, t := range r.Stage.Thresholds {
		if p, _, ok := t.LatencyBound(); ok {
			needed := perTail / (1 - p/100) / rate
			length = max(length, time.Duration(math.Ceil(needed*1000))*time.Millisecond)
		}
	}
	return max(r.Stage.Duration, min(length, r.LongestStep))
}

// Hopeless tells that a running step can't keep its conditions any more: requests
// were not sent for want of room, or half of the answers were too late when an
// eighth of the step is over. Those are more than a sixteenth of all, and a
// percentile above 93.75 allows less.
func Hopeless(r measure.Result, s stage.Stage) bool {
	if slices.ContainsFunc(r.Faults, func(f measure.FaultCount) bool { return f.Kind == measure.Overrun }) {
		return true
	}
	if r.Elapsed < s.Duration/8 {
		return false
	}
	return slices.ContainsFunc(s.Thresholds, func(t threshold.Threshold) bool {
		p, bound, ok := t.LatencyBound()
		return ok && p > 93.75 && r.Latency.P50 > bound
	})
}
