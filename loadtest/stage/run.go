package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/steady"
	"triptych/loadtest/threshold"
	"triptych/loadtest/workload"
)

// Watcher shows a running phase until the function that it gives is called.
type Watcher interface {
	Watch(phase string, recorder *measure.Recorder) (stop func())
}

// Runner runs stages, one after another.
type Runner struct {
	Workload *workload.Workload
	Progress Watcher
	// Whole records the requests of all measurements, if there is one.
	Whole *measure.Recorder
	// Timeline gets warm-ups too, beside what Whole tells it; may be nil.
	Timeline *measure.Timeline
	// Begin, if there is one, is called between a warm-up and its measurement.
	Begin func()
	// Hopeless, if there is one, is asked now and then about a measurement that
	// runs: true gives it up.
	Hopeless func(measure.Result, Stage) bool
}

// errHopeless ends a measurement that is given up.
var errHopeless = errors.New("there is no hope for this measurement")

// look is how often Hopeless is asked.
const look = 100 * time.Millisecond

// Run runs a stage to its end, or until ctx is done.
func (r *Runner) Run(ctx context.Context, s Stage) Result {
	result := Result{Stage: s, Started: time.Now()}
	if s.Warmup.Duration > 0 {
		result.Warmup = r.warm(ctx, s)
	}
	if r.Begin != nil {
		r.Begin()
	}
	recorder := measure.NewRecorder()
	result.Began, result.Percentile = time.Now(), recorder.Percentile
	var phase *workload.Phase
	if r.Whole == nil {
		phase = r.Workload.Phase()
	} else {
		phase = r.Workload.Phase(r.Whole)
	}
	before := measure.CPUTime()
	if ctx.Err() == nil {
		result.GivenUp = r.measure(ctx, s, phase, recorder)
	}
	result.CPU = measure.CPUTime() - before
	result.Result, result.Parts = recorder.Result(), phase.Parts()
	result.Intervals, result.Percentiles = recorder.Intervals(), recorder.Percentiles()
	result.Interrupted = ctx.Err() != nil
	if !s.Open() {
		result.Corrected = recorder.Corrected()
	}
	result.Verdicts = threshold.All(s.Thresholds, result.Facts())
	return result
}

// measure is the stage without its warm-up. It tells whether that was given up.
func (r *Runner) measure(ctx context.Context, s Stage, phase *workload.Phase, recorder *measure.Recorder) (givenUp bool) {
	defer r.Progress.Watch(s.Name, recorder)()
	if r.Hopeless == nil {
		s.drive(ctx, s.plan(), phase, recorder)
		return false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer every(ctx, look, func() {
		if r.Hopeless(recorder.Result(), s) {
			cancel(errHopeless)
		}
	})()
	defer cancel(nil)
	s.drive(ctx, s.plan(), phase, recorder)
	return errors.Is(context.Cause(ctx), errHopeless)
}

func (s Stage) plan() load.Plan {
	return load.Plan{Requests: s.Requests, Duration: s.Duration, Timeout: s.Timeout, Items: workload.PhaseItems}
}

// drive puts the stage's load on a target.
func (s Stage) drive(ctx context.Context, plan load.Plan, to load.Target, recorder *measure.Recorder) {
	if s.Open() {
		load.Open(ctx, plan, s.Arrivals, to, recorder)
		return
	}
	load.Closed(ctx, plan, s.Concurrency, to, recorder)
}

// warm runs the warm-up: with the load that the stage begins with.
func (r *Runner) warm(ctx context.Context, s Stage) Warmed {
	recorder := measure.NewRecorderOn(r.Timeline)
	defer r.Progress.Watch(s.WarmupName(), recorder)()
	s.Arrivals = s.Arrivals.Start()
	plan := load.Plan{Duration: s.Warmup.Duration, Timeout: s.Timeout, Items: workload.PhaseItems}
	if !s.Warmup.Auto {
		s.drive(ctx, plan, r.Workload.Phase(), recorder)
		return Warmed{Result: recorder.Result()}
	}
	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	var w windows
	stop := every(loading, s.Warmup.Window, func() {
		w.add(recorder.Result())
		if w.detector.Steady() {
			cancel()
		}
	})
	s.drive(loading, plan, r.Workload.Phase(), recorder)
	given := loading.Err() == nil // nobody ended it
	cancel()
	stop()
	warmed := Warmed{Result: recorder.Result()}
	if given && !w.detector.Steady() {
		warmed.Note = fmt.Sprintf("not steady after %s: %s", s.Warmup.Duration, w.detector.Missing())
	}
	return warmed
}

// windows cuts a running recorder into windows.
type windows struct {
	detector steady.Detector
	last     measure.Result
}

// fewest answers make a window.
const fewest = 5

// add ends a window, if it has enough answers; else it goes on.
func (w *windows) add(now measure.Result) {
	answers := now.Answered - w.last.Answered
	if answers < fewest {
		return
	}
	total := func(r measure.Result) float64 { return r.Latency.Mean.Seconds() * float64(r.Answered) }
	w.detector.Add(measure.PerSecond(answers, now.Elapsed-w.last.Elapsed), (total(now)-total(w.last))/float64(answers))
	w.last = now
}
