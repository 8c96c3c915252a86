package chain

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/pace"
	"triptych/loadtest/bench/stack"
)

// Row 8: the load, and in how many pieces a window is looked at.
const (
	calmLoad = 0.4
	pieces   = 10
	// back is by how many times the p99 of a piece may be that of the worst piece
	// before the pause.
	back = 1.5
)

// The names of what row 8 keeps.
const (
	beyondName = "errors beyond those in flight"
	backName   = "p99 back after"
	beforeName = "p99 before"
	duringName = "p99 once back"
)

// paused is row 8: one of two replicas of preprocess stops for a window, with all its
// connections, as a machine does that is out of breath.
func (b *runner) paused(ctx context.Context) (err error) {
	if err := b.shared.stop(); err != nil { // the machine is for two replicas now
		return err
	}
	options := b.options()
	options.Replicas = map[string]int{stack.Preprocess: 2}
	s, err := stack.Start(ctx, options, b.allModels()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	us, err := b.openOurs(ctx, s, standinModel, capacityCallers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, us.Close()) }()
	most, err := whole(us.closed(ctx, capacityCallers, b.Window))
	if err != nil {
		return err
	}
	for round := range b.Rounds {
		if err := b.pauseOnce(ctx, s, us, calmLoad*most.sample.Throughput, round); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name, unit string
		bar        *figure.Bar
	}{{beyondName, "", figure.AtMost(0)}, {backName, "s", figure.AtMost(2)}, {beforeName, "ms", nil}, {duringName, "ms", nil}} {
		b.Add(figure.Figure{Row: 8, Name: "one of two replicas of preprocess paused: " + f.name, Unit: f.unit, Ours: b.Median(8, ours, f.name, figure.Value), Against: figure.Absolute, Bar: f.bar})
	}
	return nil
}

// pauseOnce has a window before, one of the pause, and half a one after it.
func (b *runner) pauseOnce(ctx context.Context, s *stack.Stack, us *side, rate float64, round int) error {
	t := &track{Target: us.Target}
	var loading sync.WaitGroup
	var w window
	var failed error
	began := time.Now()
	loading.Go(func() { w, failed = us.open(ctx, t, rate, 2*b.Window+b.Window/2, round) })
	pause, end, inFlight, err := b.pause(ctx, s.Service(stack.Preprocess+" 2"), t)
	loading.Wait()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	result := w.result
	b.draw(round, w, "Row 8, one of two replicas of preprocess paused")
	for _, f := range result.Faults {
		b.Say("row 8 round %d  %d x %s (%s), known after p50 %.1f ms", round+1, f.Count, f.Kind, f.Example, figure.Ms(f.Latency.P50))
	}
	piece := b.Window / pieces
	// The last piece before the pause has those that were caught by it.
	calm := pause.Add(-piece)
	limit := time.Duration(back * float64(slices.Max(t.worst(began, calm, piece))))
	after := t.worst(pause, end.Add(b.Window/2), piece)
	recovered := piece * time.Duration(firstCalm(after, limit))
	before := p99Of(t, began, calm)
	once := p99Of(t, pause.Add(recovered), end.Add(b.Window/2))
	for name, v := range map[string]float64{
		beyondName: float64(max(result.Errors-inFlight, 0)), backName: recovered.Seconds(), beforeName: figure.Ms(before), duringName: figure.Ms(once),
	} {
		b.Keep(figure.Sample{Row: 8, Round: round + 1, Side: ours, Name: name, Value: v})
	}
	b.Say("row 8 round %d  %.0f/s, %d in flight when it was paused, %d errors, p99 back after %s: %.1f ms, before it was %.1f ms", round+1, rate, inFlight, result.Errors, recovered, figure.Ms(once), figure.Ms(before))
	return nil
}

// pause stops a service for the second window, and says when that was and how many
// requests there were in the whole chain at its beginning: those on the service can't
// be more.
func (b *runner) pause(ctx context.Context, service *stack.Service, t *track) (begin, end time.Time, inFlight int64, err error) {
	if err := pace.Wait(ctx, b.Window); err != nil {
		return begin, end, 0, err
	}
	inFlight = t.inFlight.Load()
	begin = time.Now()
	if err := service.Pause(); err != nil {
		return begin, end, inFlight, err
	}
	err = pace.Wait(ctx, b.Window)
	end = time.Now()
	return begin, end, inFlight, errors.Join(err, service.Resume())
}

// firstCalm is the piece from which on none is above a limit.
func firstCalm(worst []time.Duration, limit time.Duration) int {
	for i := len(worst) - 1; i >= 0; i-- {
		if worst[i] > limit {
			return i + 1
		}
	}
	return 0
}

// p99Of is that of the requests of a time; 0 where there are none.
func p99Of(t *track, from, to time.Time) time.Duration {
	if !from.Before(to) {
		return 0
	}
	return t.worst(from, to, to.Sub(from))[0]
}
