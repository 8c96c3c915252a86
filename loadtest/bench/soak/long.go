package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/page"
)

const (
	// capacityCallers find out what the chain can do.
	capacityCallers = 16
	// outstanding bounds the requests in flight.
	outstanding = 5000
	// seed makes the same arrivals each time.
	seed = 1
)

// long is the soak itself.
func (b *runner) long(ctx context.Context, m *mixture) error {
	recorder := measure.NewRecorder()
	load.Closed(ctx, load.Plan{Duration: b.Window, Timeout: patience, Items: m.items}, capacityCallers, m, recorder)
	capacity := recorder.Result()
	if err := capacity.Whole(); err != nil {
		return fmt.Errorf("look for what the chain can do: %w", err)
	}
	b.Say("the chain can do %.1f/s, so %.1f/s come for %s", capacity.Throughput(), b.load*capacity.Throughput(), b.duration)
	m.sent.Store(0)
	m.rejected.Store(0)
	recorder = measure.NewRecorder()
	watch := newWatch(b.stack, b.minute())
	began := time.Now()
	did, err := b.run(ctx, m, recorder, watch, load.Arrivals{Rate: b.load * capacity.Throughput(), MaxOutstanding: outstanding, Seed: seed, Exact: true})
	if err := errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	ended, r := time.Now(), recorder.Result()
	b.Say("sent %d, answered %d, of which %d bad images were rejected, failed %d", m.sent.Load(), r.Answered, m.rejected.Load(), r.Errors)
	for _, f := range r.Faults {
		b.Say("  %d x %s (%s), known after p50 %s, p99 %s", f.Count, f.Kind, f.Example, f.Latency.P50.Round(time.Millisecond), f.Latency.P99.Round(time.Millisecond))
	}
	b.runs = append(b.runs, page.Run{
		Name: "The soak", Target: "gRPC " + b.stack.Gateway.Address() + ", model " + model, Load: fmt.Sprintf("open loop, %.0f a second", b.load*capacity.Throughput()),
		Result: r, Timeline: recorder.Intervals(), Percentiles: recorder.Percentiles(),
	})
	b.judge(r, m, did)
	return b.judgeUse(watch, began.Add(b.duration/earlyPart), ended)
}

// run loads while it disturbs and watches. It gives what was done.
func (b *runner) run(ctx context.Context, m *mixture, recorder *measure.Recorder, watch *watch, arrivals load.Arrivals) (did done, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched, end := context.WithCancel(ctx)
	var watching, disturbing sync.WaitGroup
	watching.Go(func() { watch.until(watched) })
	watching.Go(func() { b.tell(watched, recorder) })
	disturbing.Go(func() {
		if did, err = b.disturb(ctx); err != nil {
			cancel()
		}
	})
	load.Open(ctx, load.Plan{Duration: b.duration, Timeout: patience, Items: m.items}, arrivals, m, recorder)
	disturbing.Wait()
	end()
	watching.Wait()
	return did, err
}

// tell says each minute how it goes.
func (b *runner) tell(ctx context.Context, recorder *measure.Recorder) {
	tick := time.NewTicker(b.minute())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r := recorder.Result()
			b.Say("%d answers, p50 %s, p99 %s until now, %d failed, %d in flight", r.Answered, r.Latency.P50.Round(time.Millisecond), r.Latency.P99.Round(time.Millisecond), r.Errors, r.InFlight)
		case <-ctx.Done():
			return
		}
	}
}

// figure adds a line of the table that is about the figure itself.
func (b *runner) figure(name, unit string, v float64, bar *figure.Bar) {
	f := figure.Figure{Row: row, Name: name, Unit: unit, Ours: v, Bar: bar}
	if bar != nil {
		f.Against = figure.Absolute
	}
	b.Add(f)
	b.Keep(figure.Sample{Row: row, Round: 1, Side: "ours", Name: name, Value: v})
}
