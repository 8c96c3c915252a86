// Package compare measures two targets in turn and says how they differ, with an
// interval that says how sure that is. Neighbours in time are compared, since a
// machine is not the same from minute to minute.
package compare

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	"triptych/loadtest/bench/server"
	"triptych/loadtest/measure"
	"triptych/loadtest/stage"
	"triptych/loadtest/workload"
	"triptych/shared/failure"
)

// Side is one of two targets.
type Side struct {
	// Start is a command of the shell that serves in the foreground while the side
	// has its turn, and is ended by SIGTERM; empty when the side is running anyway.
	Start    string
	Workload *workload.Workload
}

// SideName is what reports call a side: A or B.
func SideName(side int) string { return string(rune('A' + side)) }

// Plan is how the sides are compared.
type Plan struct {
	Sides [2]Side
	// Rounds are how often each side has its turn.
	Rounds int
	// Stage is one turn.
	Stage stage.Stage
	// Seed chooses who begins in each round.
	Seed uint64
	// Progress shows a turn; Log gets what the started commands say.
	Progress stage.Watcher
	Log      io.Writer
}

// Round is a turn of each side.
type Round struct {
	// Results are those of A and B.
	Results [2]stage.Result
	// First is the side that began.
	First int
}

// Run compares. It tells each turn as it is done. An early end is no error: what
// there is of whole rounds is given.
func (p Plan) Run(ctx context.Context, each func(round, side int, r stage.Result)) ([]Round, error) {
	random := rand.New(rand.NewPCG(p.Seed, 0))
	var rounds []Round
	for n := range p.Rounds {
		round := Round{First: random.IntN(2)}
		for _, side := range []int{round.First, 1 - round.First} {
			result, err := p.turn(ctx, side)
			switch {
			case ended(ctx):
				return rounds, nil
			case err != nil:
				return rounds, err
			}
			round.Results[side] = result
			each(n, side, result)
		}
		rounds = append(rounds, round)
	}
	return rounds, nil
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// turn is one measurement of a side, which is started for it if it must be.
func (p Plan) turn(ctx context.Context, side int) (result stage.Result, err error) {
	s := p.Sides[side]
	if s.Start != "" {
		process, err := server.Run(s.Start, p.Log)
		if err != nil {
			return result, failure.Wrap(err, failure.Invalid, "the command of %s can't be started", SideName(side))
		}
		defer func() { _ = process.Stop() }() // how it ended is not what is measured
		if err := p.ready(ctx, process, side); err != nil {
			return result, err
		}
	}
	turn := p.Stage
	turn.Name = SideName(side)
	runner := stage.Runner{Workload: s.Workload, Progress: p.Progress}
	return runner.Run(ctx, turn), nil
}

// tryTime bounds one try to be answered.
const tryTime = 5 * time.Second

// ready waits until a started side answers.
func (p Plan) ready(ctx context.Context, process *server.Process, side int) error {
	s := p.Sides[side]
	var last error
	err := process.Await(ctx, "answer", func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, tryTime)
		defer cancel()
		last = s.Workload.Try(ctx)
		return last == nil
	})
	if err != nil {
		return failure.Wrap(err, failure.Unavailable, "%s, started by %q, does not answer: %s; the last try: %v", SideName(side), s.Start, err, last)
	}
	return nil
}

// Difference is one measure of both sides.
type Difference struct {
	// Measure is its name.
	Measure string
	// Unit is "/s" or "ms".
	Unit         string
	LessIsBetter bool
	Ratio
}

// Differences are the sides' throughput and latencies, without a percentile for
// which any turn had too few answers. An error of Kind Invalid says why there are
// none.
func Differences(rounds []Round) ([]Difference, error) {
	if len(rounds) == 0 {
		return nil, failure.New(failure.Invalid, "there was no whole round to compare")
	}
	if err := silent(rounds); err != nil {
		return nil, err
	}
	milliseconds := func(of func(measure.Spread) time.Duration) func(measure.Result) float64 {
		return func(r measure.Result) float64 { return of(r.Latency).Seconds() * 1000 }
	}
	list := make([]Difference, 0, 3)
	for _, m := range []struct {
		name, unit string
		percent    float64
		get        func(measure.Result) float64
	}{
		{"throughput", "/s", 0, measure.Result.Throughput},
		{"p50", "ms", 50, milliseconds(func(s measure.Spread) time.Duration { return s.P50 })},
		{"p99", "ms", 99, milliseconds(func(s measure.Spread) time.Duration { return s.P99 })},
	} {
		var values [2][]float64
		for _, round := range rounds {
			for side := range values {
				values[side] = append(values[side], m.get(round.Results[side].Result))
			}
		}
		ratio, ok := Estimate(values[0], values[1])
		if !ok {
			return nil, failure.New(failure.Invalid, "there is no %s to compare: it was 0 in a turn", m.name)
		}
		if m.percent == 0 || told(rounds, m.percent) {
			list = append(list, Difference{m.name, m.unit, m.percent > 0, ratio})
		}
	}
	return list, nil
}

// told tells whether a percentile says something of each turn.
func told(rounds []Round, percent float64) bool {
	for _, round := range rounds {
		for side := range round.Results {
			if !round.Results[side].Result.Latency.Tells(percent) {
				return false
			}
		}
	}
	return true
}
