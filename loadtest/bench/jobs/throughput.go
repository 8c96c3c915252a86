package jobs

import (
	"context"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/sample"
	"triptych/loadtest/target"
)

// The two roads.
const (
	jobsRoad = "jobs"
	syncRoad = "sync road"
)

const (
	// patience bounds one request.
	patience = 30 * time.Second
	// connections are those of the sync road.
	connections = 2
	// fewest items make a job that is worth measuring.
	fewest = 200
)

// throughput is row 1: items a second through three steps, by both roads in turn.
func (b *runner) throughput(ctx context.Context) error {
	return b.with(ctx, func(s *system) error {
		t, err := b.callers(s)
		if err != nil {
			return err
		}
		defer func() { _ = t.Close() }()
		var jobs, calls, ratios, accepting []float64
		for round := range b.Rounds + 1 {
			wait, err := b.callRound(ctx, s, t, round)
			if err != nil {
				return err
			}
			items := max(int(wait*b.Window.Seconds()), fewest)
			durable, accepted, err := b.jobRound(ctx, s, items, round)
			if err != nil {
				return err
			}
			if round == 0 {
				continue // all warm up
			}
			jobs, calls, ratios, accepting = append(jobs, durable), append(calls, wait), append(ratios, durable/wait), append(accepting, accepted)
		}
		called := figure.Median(calls...)
		b.Add(figure.Figure{Row: 1, Name: "items through three steps, accepting included", Unit: "/s", Ours: figure.Median(jobs...), Rival: &called, Paired: figure.Median(ratios...), Against: syncRoad, Bar: figure.AtLeast(0.6)})
		b.Add(figure.Figure{Row: 1, Name: "of the job's time, until it was accepted", Unit: "", Ours: figure.Median(accepting...)})
		return nil
	})
}

// callers are those of the sync road: by gRPC, its fastest door.
func (b *runner) callers(s *system) (target.Target, error) {
	images := make([]sample.Image, len(b.images))
	for i, data := range b.images {
		images[i] = sample.Image{Data: data}
	}
	return target.New(target.Options{Protocol: target.GRPC, URL: s.gateway().Address, Model: model, Input: "IMAGE", Output: "LABEL", Connections: connections}, images)
}

// callRound is answers a second of the sync road.
func (b *runner) callRound(ctx context.Context, s *system, t target.Target, round int) (float64, error) {
	before, err := s.usage()
	if err != nil {
		return 0, err
	}
	r := b.call(ctx, t, b.Window)
	after, err := s.usage()
	if err == nil {
		err = r.Whole()
	}
	if err != nil {
		return 0, err
	}
	sample := figure.SampleOf(r)
	sample.Row, sample.Round, sample.Side, sample.Name = 1, round, syncRoad, "items"
	b.Keep(sample)
	b.Say("row 1 round %d  %-9s %7.1f/s  %s", round, syncRoad, r.Throughput(), after.each(before, int(r.Answered)))
	return r.Throughput(), nil
}

// call sends requests by the sync road for so long.
func (b *runner) call(ctx context.Context, t target.Target, d time.Duration) measure.Result {
	recorder := measure.NewRecorder()
	load.Closed(ctx, load.Plan{Duration: d, Timeout: patience, Items: photographs}, b.settings.callers, t, recorder)
	return recorder.Result()
}

// jobRound is items a second of a job, from its first byte to its last verdict, and
// which part of that time went by until it was accepted.
func (b *runner) jobRound(ctx context.Context, s *system, items, round int) (rate, accepting float64, err error) {
	before, err := s.usage()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	job, accepted, err := s.timed(ctx, b.images, items)
	if err != nil {
		return 0, 0, err
	}
	elapsed := time.Since(start)
	after, err := s.usage()
	rate = float64(items) / elapsed.Seconds()
	b.Keep(figure.Sample{Row: 1, Round: round, Side: jobsRoad, Name: "items", Throughput: rate, Value: accepted.Seconds()})
	b.Say("row 1 round %d  %-9s %7.1f/s  %s (%d items, accepted after %.2f s)", round, jobsRoad, rate, after.each(before, items), job.Items, accepted.Seconds())
	return rate, accepted.Seconds() / elapsed.Seconds(), err
}
