package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/server"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
)

// Capacity is what so many callers get, measured for a part of the window.
const (
	manyCallers   = 64
	mostInFlight  = 5000
	shortestProbe = 2 * time.Second
)

// arrivals is row 2: users who come at random, as many as the load says, with the
// same bound of delay on both sides and the same arrivals.
func (b *runner) arrivals(ctx context.Context) error {
	capacity, err := b.capacity(ctx)
	if err != nil {
		return err
	}
	b.Report.Notes = append(b.Report.Notes, fmt.Sprintf("Row 2: 100 %% is %.0f/s, the closed loop of %d callers of %s.", capacity, manyCallers, b.yardstick()))
	for round := range b.Rounds {
		err := b.withStandin(ctx, standin, func(s *server.Server) error { return b.atLoads(ctx, s, round, ours, standin, capacity) })
		if err == nil && b.rival.Given() {
			err = b.withRival(ctx, bound, func(s *server.Server) error { return b.atLoads(ctx, s, round, rival, b.rival.Model, capacity) })
		}
		if err != nil {
			return err
		}
	}
	b.judgeArrivals()
	b.plotArrivals(capacity)
	return nil
}

// yardstick is whose capacity counts.
func (b *runner) yardstick() string {
	if !b.rival.Given() {
		return "our own side"
	}
	return "the rival with a delay of 10 ms"
}

func (b *runner) capacity(ctx context.Context) (float64, error) {
	var capacity float64
	find := func(model string) func(*server.Server) error {
		return func(s *server.Server) error {
			got, _, err := loaded(ctx, s, model, closed(ctx, manyCallers, max(b.Window/2, shortestProbe)))
			capacity = got.Throughput
			return err
		}
	}
	var err error
	if !b.rival.Given() {
		err = b.withStandin(ctx, standin, find(standin))
	} else {
		err = b.withRival(ctx, bound, find(b.rival.Model))
	}
	return capacity, err
}

func (b *runner) atLoads(ctx context.Context, s *server.Server, round int, side, model string, capacity float64) error {
	for _, percent := range b.loads {
		a := load.Arrivals{Rate: capacity * float64(percent) / 100, MaxOutstanding: mostInFlight, Seed: uint64(round) + 1, Exact: true}
		if _, _, err := loaded(ctx, s, model, open(ctx, a, time.Second, 0)); err != nil {
			return err
		}
		got, _, err := loaded(ctx, s, model, open(ctx, a, b.Window, 0))
		if err != nil {
			return err
		}
		got.Row, got.Round, got.Side, got.Name = 2, round+1, side, atLoad(percent)
		b.sample(got)
	}
	return nil
}

func atLoad(percent int) string { return "at " + strconv.Itoa(percent) + " %" }

// open makes a load of users who come at random.
func open(ctx context.Context, a load.Arrivals, d, deadline time.Duration) drive {
	return func(t load.Target, r *measure.Recorder) {
		load.Open(ctx, load.Plan{Duration: d, Timeout: requestTimeout, Deadline: deadline, Items: contents}, a, t, r)
	}
}

func (b *runner) judgeArrivals() {
	p50Bars := map[int]float64{5: 0.5, 20: 0.75, 50: 1, 80: 1}
	p99Bars := map[int]float64{50: 1, 80: 1}
	for _, percent := range b.loads {
		b.judgeLoad("p50", percent, figure.P50, p50Bars)
		b.judgeLoad("p99", percent, figure.P99, p99Bars)
		b.judgeLoad("batch", percent, figure.Batch, nil)
	}
}

func (b *runner) judgeLoad(what string, percent int, number func(figure.Sample) float64, bars map[int]float64) {
	name, unit := atLoad(percent), "ms"
	if what == "batch" {
		unit = ""
	}
	f := figure.Figure{Row: 2, Name: what + " " + name, Unit: unit, Ours: b.Median(2, ours, name, number)}
	if limit, ok := bars[percent]; ok {
		f.Bar = figure.AtMost(limit)
	}
	if b.rival.Given() {
		got := b.Median(2, rival, name, number)
		f.Rival, f.Against = &got, "delay 10000 us"
	}
	b.Add(f)
}

// plotArrivals keeps the medians for the plot.
func (b *runner) plotArrivals(capacity float64) {
	for _, side := range []string{ours, rival} {
		for _, percent := range b.loads {
			name := atLoad(percent)
			if len(b.Of(2, side, name, figure.P50)) == 0 {
				continue
			}
			b.Report.Points = append(b.Report.Points, figure.Point{
				Percent: float64(percent), Rate: capacity * float64(percent) / 100, Side: side,
				P50: b.Median(2, side, name, figure.P50), P99: b.Median(2, side, name, figure.P99), Batch: b.Median(2, side, name, figure.Batch),
			})
		}
	}
}
