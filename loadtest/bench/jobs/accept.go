package jobs

import (
	"context"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/jobs/api"
)

// acceptItems of about 100 kB are the job of row 2.
const acceptItems = 1000

// accept is row 2: how long a job takes until it is accepted, and what the gateway
// holds meanwhile. Each round has a new stack: a process that has done it once
// keeps some memory for the next time.
func (b *runner) accept(ctx context.Context) error {
	var times, memory []float64
	for round := range b.Rounds {
		err := b.with(ctx, func(s *system) error {
			seconds, held, err := b.acceptOnce(ctx, s)
			times, memory = append(times, seconds), append(memory, held)
			b.Keep(figure.Sample{Row: 2, Round: round + 1, Side: jobsRoad, Name: "accepted after s", Value: seconds})
			b.Keep(figure.Sample{Row: 2, Round: round + 1, Side: jobsRoad, Name: "gateway above idle MiB", Value: held})
			b.Say("row 2 round %d  accepted after %.2f s, the gateway had %.0f MiB more than idle", round+1, seconds, held)
			return err
		})
		if err != nil {
			return err
		}
	}
	b.Add(figure.Figure{Row: 2, Name: "1,000 images of 100 kB, accepted after", Unit: "s", Ours: figure.Median(times...), Against: figure.Absolute, Bar: figure.AtMost(2)})
	b.Add(figure.Figure{Row: 2, Name: "memory of the gateway above idle", Unit: "MiB", Ours: figure.Median(memory...), Against: figure.Absolute, Bar: figure.AtMost(150)})
	return nil
}

func (b *runner) acceptOnce(ctx context.Context, s *system) (seconds, held float64, err error) {
	idle, err := s.gateway().Memory()
	if err != nil {
		return 0, 0, err
	}
	held, err = above(s.gateway().Process, idle, func() error {
		start := time.Now()
		_, err := s.jobs.Submit(ctx, model, api.NewForm(b.images, acceptItems))
		seconds = time.Since(start).Seconds()
		return err
	})
	return seconds, held, err
}
