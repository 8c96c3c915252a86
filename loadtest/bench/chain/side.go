package chain

import (
	"context"
	"fmt"
	"time"

	"triptych/loadtest/bench/answers"
	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/server"
	"triptych/loadtest/bench/stack"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/page"
	"triptych/loadtest/target"
)

// The two sides.
const (
	ours  = "ours"
	rival = "rival"
)

const (
	// patience bounds one request.
	patience = 30 * time.Second
	// connections are those of the generator to a side.
	connections = 2
	// warmest bounds how long a side is warmed up.
	warmest = 2 * time.Second
)

// side is one that is measured: a model of a server, which answers like it did in
// quiet.
type side struct {
	name           string
	address, model string
	items          int
	target.Target
	// cpu is the processor time of our services; nil for a rival.
	cpu func() (time.Duration, error)
}

// open learns the right answers of a model and warms it up. Close the side.
func (b *runner) open(ctx context.Context, name string, s *server.Server, model string, callers int) (*side, error) {
	key := answers.New(b.images)
	if err := key.Learn(ctx, s.Infer, model); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t, err := target.NewTensors(target.Options{Protocol: target.GRPC, URL: s.Address, Model: model, Connections: connections}, key.Tensors(), key.Check)
	if err != nil {
		return nil, err
	}
	it := &side{name: name, address: s.Address, model: model, items: len(b.images), Target: t}
	load.Closed(ctx, it.plan(min(b.Window, warmest)), callers, t, measure.NewRecorder())
	return it, nil
}

// openOurs is our own side of a stack.
func (b *runner) openOurs(ctx context.Context, s *stack.Stack, model string, callers int) (*side, error) {
	it, err := b.open(ctx, ours, s.Gateway.Server(), model, callers)
	if err == nil {
		it.cpu = s.CPU
	}
	return it, err
}

func (s *side) plan(d time.Duration) load.Plan {
	return load.Plan{Duration: d, Timeout: patience, Items: s.items}
}

// window is what came of one: in full, as a sample, and as a run for the page.
type window struct {
	result measure.Result
	sample figure.Sample
	run    page.Run
}

// closed is one window with so many callers, each of which sends again when it has
// its answer.
func (s *side) closed(ctx context.Context, callers int, d time.Duration) (window, error) {
	return s.measured(fmt.Sprintf("closed loop, %d callers", callers), func(r *measure.Recorder) {
		load.Closed(ctx, s.plan(d), callers, s.Target, r)
	})
}

// outstanding bounds the requests of an open loop that are in flight.
const outstanding = 5000

// open is one window of requests that come at random, at a rate, to a target that may
// stand before the side's own.
func (s *side) open(ctx context.Context, t load.Target, rate float64, d time.Duration, seed int) (window, error) {
	arrivals := load.Arrivals{Rate: rate, MaxOutstanding: outstanding, Seed: uint64(seed) + 1, Exact: true}
	return s.measured(fmt.Sprintf("open loop, %.0f a second", rate), func(r *measure.Recorder) {
		load.Open(ctx, s.plan(d), arrivals, t, r)
	})
}

// measured drives the side and sums up. The value of the sample is the CPU of our
// services for an answer, in milliseconds.
func (s *side) measured(load string, drive func(*measure.Recorder)) (window, error) {
	before, err := s.used()
	if err != nil {
		return window{}, err
	}
	own, recorder := measure.CPUTime(), measure.NewRecorder()
	drive(recorder)
	r := recorder.Result()
	own = measure.CPUTime() - own
	after, err := s.used()
	w := window{result: r, sample: figure.SampleOf(r), run: page.Run{
		Target: "gRPC " + s.address + ", model " + s.model, Load: load,
		Result: r, Timeline: recorder.Intervals(), Percentiles: recorder.Percentiles(),
	}}
	w.sample.Side, w.sample.Generator = s.name, own.Seconds()/r.Elapsed.Seconds()
	if r.Answered > 0 {
		w.sample.Value = 1e3 * (after - before).Seconds() / float64(r.Answered)
	}
	return w, err
}

// whole is a window of which each request was answered.
func whole(w window, err error) (window, error) {
	if err == nil {
		err = w.result.Whole()
	}
	return w, err
}

func (s *side) used() (time.Duration, error) {
	if s.cpu == nil {
		return 0, nil
	}
	return s.cpu()
}
