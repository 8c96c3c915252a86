package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/otlp"
	"triptych/loadtest/bench/pace"
	"triptych/loadtest/bench/stack"
)

// The two sides of row 6.
const (
	observedOn  = "observed"
	observedOff = "not observed"
)

// scrapePause is that of Prometheus, which usually takes fifteen seconds.
const scrapePause = time.Second

// exported is how long spans may wait in a service until they are sent: the next turn
// is not to pay for them.
const exported = 1500 * time.Millisecond

// observed is row 6: what it costs to see each request. Two stacks that differ in
// where traces go take turns, and the metrics of one of them are read meanwhile.
func (b *runner) observed(ctx context.Context) (err error) {
	off, err := b.ours(ctx)
	if err != nil {
		return err
	}
	receiver, err := otlp.Start(ctx)
	if err != nil {
		return err
	}
	defer receiver.Stop()
	options := b.options()
	options.Flags = []string{"--otlp-endpoint", receiver.Address}
	on, err := stack.Start(ctx, options, b.allModels()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.Stop()) }()
	for _, load := range []struct {
		model, name string
		callers     int
	}{{float32Model, "float32, 16 callers", 16}, {standinModel, "stand-in, 32 callers", 32}} {
		it := watching{runner: b, receiver: receiver, stacks: map[string]*stack.Stack{observedOn: on, observedOff: off}, name: load.name, callers: load.callers}
		if err := it.measure(ctx, load.model); err != nil {
			return err
		}
	}
	return nil
}

// watching is row 6 for one model.
type watching struct {
	*runner
	receiver *otlp.Receiver
	stacks   map[string]*stack.Stack
	name     string
	callers  int
}

func (w *watching) measure(ctx context.Context, model string) (err error) {
	on, err := w.openOurs(ctx, w.stacks[observedOn], model, w.callers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	off, err := w.openOurs(ctx, w.stacks[observedOff], model, w.callers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, off.Close()) }()
	for n := range w.Rounds * w.settings.turns {
		turns := []func() error{
			func() error { return w.turn(ctx, observedOn, on, n) },
			func() error { return w.turn(ctx, observedOff, off, n) },
		}
		if n%2 == 1 { // who begins changes
			slices.Reverse(turns)
		}
		for _, turn := range turns {
			if err := turn(); err != nil {
				return err
			}
		}
	}
	return w.judge(ctx)
}

// turn is one of a side; metrics are read during those of one of them.
func (w *watching) turn(ctx context.Context, name string, s *side, n int) error {
	reading, stop := context.WithCancel(ctx)
	var prometheus sync.WaitGroup
	var unread error
	if name == observedOn {
		prometheus.Go(func() { unread = scrape(reading, w.stacks[name]) })
	}
	before := w.receiver.Spans()
	got, err := whole(s.closed(ctx, w.callers, w.Window/turnPart))
	stop()
	prometheus.Wait()
	if name == observedOn {
		err = errors.Join(err, unread, pace.Wait(ctx, min(exported, w.Window)))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	sample := got.sample
	sample.Row, sample.Round, sample.Side, sample.Name = 6, n+1, name, w.name
	w.Keep(sample)
	w.Keep(figure.Sample{Row: 6, Round: n + 1, Side: name, Name: w.name + ", spans", Value: float64(w.receiver.Spans()-before) / float64(got.result.Answered)})
	w.show(sample)
	return nil
}

// scrape reads the metrics of all services, again and again until ctx ends.
func scrape(ctx context.Context, s *stack.Stack) error {
	client := stack.NewClient()
	defer client.CloseIdleConnections()
	return pace.Every(ctx, scrapePause, func() error {
		for _, service := range s.Services {
			if _, err := service.Scrape(ctx, client, "go_goroutines"); err != nil && ctx.Err() == nil {
				return err
			}
		}
		return nil
	})
}

// judge compares. Spans that were dropped would have cost nothing, so there may be
// none.
func (w *watching) judge(ctx context.Context) error {
	client := stack.NewClient()
	defer client.CloseIdleConnections()
	dropped := 0.0
	for _, service := range w.stacks[observedOn].Services {
		n, err := service.Scrape(ctx, client, "triptych_spans_dropped_total")
		if err != nil {
			return err
		}
		dropped += n
	}
	f := paired(w.Of(6, observedOn, w.name, figure.Throughput), w.Of(6, observedOff, w.name, figure.Throughput), observedOff)
	f.Row, f.Name, f.Unit, f.Bar = 6, w.name+": traces and metrics on", "/s", figure.AtLeast(0.97)
	w.Add(f)
	w.Add(figure.Figure{Row: 6, Name: w.name + ": spans received, an answer", Ours: w.Median(6, observedOn, w.name+", spans", figure.Value)})
	w.Add(figure.Figure{Row: 6, Name: w.name + ": spans dropped", Ours: dropped, Against: figure.Absolute, Bar: figure.AtMost(0)})
	return nil
}
