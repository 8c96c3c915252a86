package chain

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/pace"
	"triptych/loadtest/bench/stack"
	"triptych/loadtest/measure"
)

// Row 7: how much comes, in parts of what the chain can do, and for how many windows.
const (
	busyLoad        = 0.8
	busyWindows     = 3
	tooMuch         = 3
	overloadWindows = 6
	capacityCallers = 32
)

// The names of what row 7 keeps.
const (
	capacityName = "capacity"
	busyName     = "at 80 %"
	overloadName = "at 300 %"
	memoryOf     = "memory "
	refusedName  = "refused"
	failedName   = "failed"
	lateName     = "not sent"
)

// overload is row 7: three times what the stand-in's chain can do.
func (b *runner) overload(ctx context.Context) (err error) {
	s, err := b.ours(ctx)
	if err != nil {
		return err
	}
	us, err := b.openOurs(ctx, s, standinModel, capacityCallers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, us.Close()) }()
	for round := range b.Rounds {
		if err := b.overloadOnce(ctx, s, us, round); err != nil {
			return err
		}
	}
	b.judgeOverload()
	return nil
}

func (b *runner) overloadOnce(ctx context.Context, s *stack.Stack, us *side, round int) error {
	most, err := whole(us.closed(ctx, capacityCallers, b.Window))
	if err != nil {
		return err
	}
	b.keepOverload(round, capacityName, most)
	for _, phase := range []struct {
		name    string
		load    float64
		windows int
	}{{busyName, busyLoad, busyWindows}, {overloadName, tooMuch, overloadWindows}} {
		length := time.Duration(phase.windows) * b.Window
		peak := watchMemory(ctx, s)
		w, err := us.open(ctx, us.Target, phase.load*most.sample.Throughput, length, round)
		held, unread := peak()
		if err := errors.Join(err, unread); err != nil {
			return err
		}
		// Answers that came after the last request was sent are goodput of no time.
		w.sample.Throughput = float64(w.result.Answered) / max(w.result.Elapsed, length).Seconds()
		b.keepOverload(round, phase.name, w)
		b.Keep(figure.Sample{Row: 7, Round: round + 1, Side: ours, Name: memoryOf + phase.name, Value: held})
		b.Say("row 7 round %d  %-22s %.0f MiB at most, the generator took %.2f cores and was late by p99 %.1f ms", round+1, phase.name, held, w.sample.Generator, figure.Ms(w.result.Lateness.P99))
		if phase.name == overloadName {
			b.keepRefusals(round, w.result)
		} else {
			b.Keep(figure.Sample{Row: 7, Round: round + 1, Side: ours, Name: refusedName + " " + phase.name, Value: float64(w.result.Errors)})
		}
	}
	return nil
}

func (b *runner) keepOverload(round int, name string, w window) {
	w.sample.Row, w.sample.Round, w.sample.Name = 7, round+1, name
	b.Keep(w.sample)
	b.show(w.sample)
	b.draw(round, w, "Row 7, the stand-in's chain: "+name)
}

// keepRefusals parts those who were told to come again from those who got nothing.
func (b *runner) keepRefusals(round int, r measure.Result) {
	counts := map[string]int64{refusedName: 0, failedName: 0, lateName: 0}
	for _, f := range r.Faults {
		counts[fate(f.Kind)] += f.Count
		b.Say("row 7 round %d  %d x %s (%s), known after p50 %.1f ms, p99 %.1f ms", round+1, f.Count, f.Kind, f.Example, figure.Ms(f.Latency.P50), figure.Ms(f.Latency.P99))
	}
	for name, n := range counts {
		b.Keep(figure.Sample{Row: 7, Round: round + 1, Side: ours, Name: name, Value: float64(n)})
	}
}

// fate is what became of a request that was not answered. 429 and 503 are refusals:
// they say when to come again.
func fate(kind string) string {
	switch {
	case strings.HasPrefix(kind, "gRPC RESOURCE_EXHAUSTED"), strings.HasPrefix(kind, "gRPC UNAVAILABLE"):
		return refusedName
	case kind == measure.Overrun:
		return lateName
	default:
		return failedName
	}
}

// memoryPause is that between two looks at the memory of our processes.
const memoryPause = 100 * time.Millisecond

// watchMemory begins to watch what all processes of a stack hold together. The
// function that it gives ends that, and says how much it was at most, in MiB.
func watchMemory(ctx context.Context, s *stack.Stack) func() (float64, error) {
	var most int64
	var failed error
	ctx, end := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		failed = pace.Every(ctx, memoryPause, func() error {
			held, err := s.Memory()
			most = max(most, held)
			return err
		})
	})
	return func() (float64, error) {
		end()
		watching.Wait()
		return float64(most) / mib, failed
	}
}

func (b *runner) judgeOverload() {
	of := func(name string, number func(figure.Sample) float64) []float64 { return b.Of(7, ours, name, number) }
	pair := func(name, unit string, us, than []float64, against string, bar *figure.Bar) {
		f := paired(us, than, against)
		f.Row, f.Name, f.Unit, f.Bar = 7, name, unit, bar
		b.Add(f)
	}
	pair("three times the capacity: goodput", "/s", of(overloadName, figure.Throughput), of(capacityName, figure.Throughput), capacityName, figure.AtLeast(0.9))
	pair("three times the capacity: p99 of the answered", "ms", of(overloadName, figure.P99), of(busyName, figure.P99), busyName, figure.AtMost(2))
	grown := make([]float64, 0, b.Rounds)
	least := of(memoryOf+busyName, figure.Value)
	for i, held := range of(memoryOf+overloadName, figure.Value) {
		grown = append(grown, held-least[i])
	}
	itself := func(name, unit string, v float64, bar *figure.Bar) {
		b.Add(figure.Figure{Row: 7, Name: name, Unit: unit, Ours: v, Against: figure.Absolute, Bar: bar})
	}
	itself("three times the capacity: failed otherwise than by 429 or 503", "", figure.Median(of(failedName, figure.Value)...), figure.AtMost(0))
	itself("three times the capacity: memory of the services above that at 80 %", "MiB", figure.Median(grown...), figure.AtMost(64))
	b.Add(figure.Figure{Row: 7, Name: "at 80 % of the capacity: refused", Ours: figure.Median(of(refusedName+" "+busyName, figure.Value)...)})
	b.Add(figure.Figure{Row: 7, Name: "three times the capacity: refused", Ours: figure.Median(of(refusedName, figure.Value)...)})
	b.Add(figure.Figure{Row: 7, Name: "three times the capacity: not sent by the generator", Ours: figure.Median(of(lateName, figure.Value)...)})
}
