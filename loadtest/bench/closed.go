package bench

import (
	"context"
	"strconv"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/perf"
	"triptych/loadtest/bench/server"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
)

// contents is how many different requests a load has.
const contents = 16

// requestTimeout ends a request to a server that hangs.
const requestTimeout = 30 * time.Second

// delays are the rival's settings, of which the best counts at each concurrency.
func delays() []int { return []int{0, 2000, bound} }

// goals are the bars of row 1.
func goals() []struct {
	concurrency     int
	throughput, p99 float64
} {
	return []struct {
		concurrency     int
		throughput, p99 float64
	}{{1, 1.05, 1}, {4, 1.6, 0.7}, {16, 1.2, 0.85}, {64, 1.1, 0.9}}
}

// closedLoop is row 1: the stand-in at several concurrencies.
func (b *runner) closedLoop(ctx context.Context) error {
	for round := range b.Rounds {
		err := b.withStandin(ctx, standin, func(s *server.Server) error { return b.atEach(ctx, s, round, ours, standin) })
		if err != nil {
			return err
		}
		for _, delay := range delays() {
			if !b.rival.Given() {
				break
			}
			err := b.withRival(ctx, delay, func(s *server.Server) error { return b.atEach(ctx, s, round, withDelay(delay), b.rival.Model) })
			if err != nil {
				return err
			}
		}
	}
	for _, goal := range goals() {
		name := atConcurrency(goal.concurrency)
		b.Add(b.against(figure.Figure{Row: 1, Name: "throughput " + name, Unit: "/s", Bar: figure.AtLeast(goal.throughput)}, name, figure.Throughput))
		b.Add(b.against(figure.Figure{Row: 1, Name: "p99 " + name, Unit: "ms", Bar: figure.AtMost(goal.p99)}, name, figure.P99))
	}
	return nil
}

func withDelay(delay int) string { return rival + " " + strconv.Itoa(delay) }

func atConcurrency(n int) string { return "at " + strconv.Itoa(n) }

// against completes a figure of row 1 with the best of the rival's settings for
// this very number: its throughput may be that of one setting and its p99 that of
// another.
func (b *runner) against(f figure.Figure, name string, number func(figure.Sample) float64) figure.Figure {
	f.Ours = b.Median(1, ours, name, number)
	for _, delay := range delays() {
		if !b.rival.Given() {
			break
		}
		got := b.Median(1, withDelay(delay), name, number)
		if f.Rival == nil || f.Bar.Most && got < *f.Rival || !f.Bar.Most && got > *f.Rival {
			f.Rival, f.Against = &got, "delay "+strconv.Itoa(delay)+" us"
		}
	}
	return f
}

func (b *runner) atEach(ctx context.Context, s *server.Server, round int, side, model string) error {
	for _, goal := range goals() {
		got, err := b.callers(ctx, s, model, goal.concurrency)
		if err != nil {
			return err
		}
		got.Row, got.Round, got.Side, got.Name = 1, round+1, side, atConcurrency(goal.concurrency)
		b.sample(got)
	}
	return nil
}

// callers is one measurement with so many callers.
func (b *runner) callers(ctx context.Context, s *server.Server, model string, concurrency int) (figure.Sample, error) {
	if b.analyzer == "" {
		got, _, err := loaded(ctx, s, model, closed(ctx, concurrency, b.Window))
		return got, err
	}
	r, err := perf.Analyzer(b.analyzer).Run(ctx, perf.Test{
		Address: s.Address, Model: model, Input: input, Shape: dims, Concurrency: concurrency, Window: b.Window / 3,
	})
	return figure.Sample{Throughput: r.Throughput, P50: figure.Ms(r.P50), P99: figure.Ms(r.P99), Batch: r.Batch}, err
}

// closed makes a load of so many callers.
func closed(ctx context.Context, concurrency int, d time.Duration) drive {
	return func(t load.Target, r *measure.Recorder) {
		load.Closed(ctx, load.Plan{Duration: d, Timeout: requestTimeout, Items: contents}, concurrency, t, r)
	}
}
