package soak

import (
	"context"
	"fmt"
	"slices"
	"time"

	"triptych/loadtest/bench/pace"
	"triptych/loadtest/bench/stack"
)

// done is what was done to the chain.
type done struct {
	swaps, kills int
	// back are how long it took after each kill until the chain answered again, in
	// seconds.
	back []float64
}

// event is something to be done, at a time after the beginning.
type event struct {
	at   time.Duration
	kill string // a stage; empty for a swap
}

// events spread swaps and kills over the time in which they may be. They don't meet,
// as long as each is over before the next.
func (s *settings) events() []event {
	quiet := s.duration / quietPart
	room := s.duration - 2*quiet
	list := make([]event, 0, s.swaps+s.kills)
	for n := range s.swaps {
		list = append(list, event{at: quiet + room*time.Duration(2*n+1)/time.Duration(2*s.swaps)})
	}
	stages := stack.Stages()
	for n := range s.kills {
		list = append(list, event{at: quiet + room*time.Duration(n)/time.Duration(s.kills), kill: stages[n%len(stages)]})
	}
	slices.SortStableFunc(list, func(a, b event) int { return int(a.at - b.at) })
	return list
}

// disturb does all of it, or as much as there is time for until ctx ends.
func (b *runner) disturb(ctx context.Context) (done, error) {
	var d done
	began := time.Now()
	for _, e := range b.events() {
		err := pace.Wait(ctx, time.Until(began.Add(e.at)))
		if err == nil {
			err = b.do(ctx, e, &d)
		}
		if ctx.Err() == nil && err != nil {
			return d, err
		}
	}
	return d, nil
}

func (b *runner) do(ctx context.Context, e event, d *done) error {
	start := time.Now()
	if e.kill == "" {
		if err := b.swap(ctx); err != nil {
			return err
		}
		d.swaps++
		b.Say("swap %d to version %d took %s", d.swaps, b.repository.Latest(), time.Since(start).Round(time.Millisecond))
		return nil
	}
	service := b.stack.Service(e.kill)
	if err := service.Kill(); err != nil {
		return err
	}
	if err := service.Restart(ctx); err != nil {
		return err
	}
	gateway := b.stack.Gateway.Server()
	if err := gateway.Await(ctx, "answer again", func(ctx context.Context) bool {
		_, err := gateway.Infer(ctx, b.probe)
		return err == nil
	}); err != nil {
		return err
	}
	d.kills++
	d.back = append(d.back, time.Since(start).Seconds())
	b.Say("kill %d, %s, was made good after %s", d.kills, e.kill, time.Since(start).Round(time.Millisecond))
	return nil
}

// swapPause is that between two tries to load a version: the predictor may have been
// killed.
const swapPause = 200 * time.Millisecond

// swap puts the next version in the place of the latest.
func (b *runner) swap(ctx context.Context) error {
	return b.repository.Swap(func(name string) error {
		for {
			err := b.stack.Service(stack.Predictor).Server().Load(ctx, name)
			if err == nil {
				return nil
			}
			if pace.Wait(ctx, swapPause) != nil {
				return fmt.Errorf("swap: %w", err)
			}
		}
	})
}
