package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/jobs/api"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/target"
)

const (
	// part of the sync road's capacity is what its users want in row 4: enough that
	// both roads want the same stages, and no more than a user would plan for.
	part = 0.3
	// outstanding bounds the users who wait.
	outstanding = 1000
	// underway is how many items have their verdict when a job counts as running.
	underway = 100
)

// The names of what row 4 keeps.
const (
	aloneName  = "alone"
	besideName = "beside a job"
)

// beside is row 4: what a job does to those who wait. They come at random, so that
// those who would have come while a stage was held up are not left out.
func (b *runner) beside(ctx context.Context) error {
	return b.with(ctx, func(s *system) error {
		t, err := b.callers(s)
		if err != nil {
			return err
		}
		defer func() { _ = t.Close() }()
		recorder := measure.NewRecorder()
		load.Closed(ctx, load.Plan{Duration: b.Window, Timeout: patience, Items: photographs}, b.settings.callers, t, recorder)
		capacity := recorder.Result().Throughput()
		var ratios, alone, with, rates []float64
		for round := range b.Rounds {
			arrivals := load.Arrivals{Rate: part * capacity, MaxOutstanding: outstanding, Seed: uint64(round) + 1, Exact: true}
			before, err := b.users(ctx, t, arrivals, round, aloneName)
			if err != nil {
				return err
			}
			during, rate, err := b.usersBeside(ctx, s, t, arrivals, round, int(capacity*(b.Window+more).Seconds()))
			if err != nil {
				return err
			}
			ratios, alone, with, rates = append(ratios, during/before), append(alone, before), append(with, during), append(rates, rate)
		}
		least := figure.Median(alone...)
		b.Add(figure.Figure{Row: 4, Name: fmt.Sprintf("p99 of %.0f users a second beside a job", part*capacity), Unit: "ms", Ours: figure.Median(with...), Rival: &least, Paired: figure.Median(ratios...), Against: aloneName, Bar: figure.AtMost(2)})
		b.Add(figure.Figure{Row: 4, Name: "items of the job meanwhile", Unit: "/s", Ours: figure.Median(rates...)})
		return nil
	})
}

// more is by how much the job outlasts the window.
const more = 4 * time.Second

// users is the p99 of one window, in milliseconds.
func (b *runner) users(ctx context.Context, t target.Target, a load.Arrivals, round int, name string) (float64, error) {
	recorder := measure.NewRecorder()
	load.Open(ctx, load.Plan{Duration: b.Window, Timeout: patience, Items: photographs}, a, t, recorder)
	r := recorder.Result()
	sample := figure.SampleOf(r)
	sample.Row, sample.Round, sample.Side, sample.Name = 4, round+1, syncRoad, name
	b.Keep(sample)
	b.Say("row 4 round %d  %-12s %6.1f users/s, p50 %.1f ms, p99 %.1f ms", round+1, name, sample.Throughput, sample.P50, sample.P99)
	return sample.P99, r.Whole()
}

// usersBeside is the same while a job runs, and the job's items a second.
func (b *runner) usersBeside(ctx context.Context, s *system, t target.Target, a load.Arrivals, round, items int) (p99, rate float64, err error) {
	job, err := s.jobs.Submit(ctx, model, api.NewForm(b.images, items))
	if err != nil {
		return 0, 0, err
	}
	before, err := s.jobs.Until(ctx, job.ID, poll, func(s api.Status) bool { return s.Counts.Succeeded >= underway })
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	p99, err = b.users(ctx, t, a, round, besideName)
	elapsed := time.Since(start)
	if err != nil {
		return 0, 0, err
	}
	after, err := s.jobs.Job(ctx, job.ID)
	if err == nil && after.Counts.Pending == 0 {
		err = errors.New("the job was done before the window was")
	}
	if err != nil {
		return 0, 0, err
	}
	rate = float64(after.Counts.Succeeded-before.Counts.Succeeded) / elapsed.Seconds()
	b.Keep(figure.Sample{Row: 4, Round: round + 1, Side: jobsRoad, Name: besideName, Throughput: rate})
	b.Say("row 4 round %d  the job did %.1f items/s meanwhile", round+1, rate)
	if err := s.jobs.Cancel(ctx, job.ID); err != nil {
		return 0, 0, err
	}
	_, err = s.jobs.End(ctx, job.ID, poll)
	return p99, rate, err
}
