package chain

import (
	"context"
	"errors"
	"fmt"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/server"
)

// contest is one of the rows in which a rival does the same.
type contest struct {
	row  int
	name string
	// ours is our model, and rival what the mark in its command becomes.
	ours, rival string
	callers     int
	// goals are the bars, by what is compared.
	goals []goal
}

// goal is one number of a contest, with a bar or without.
type goal struct {
	name, unit string
	number     func(figure.Sample) float64
	bar        *figure.Bar
}

func contests() []contest {
	return []contest{
		{1, "float32, 16 callers", float32Model, "1", 16, []goal{
			{"throughput", "/s", figure.Throughput, figure.AtLeast(1.5)}, {"p50", "ms", figure.P50, nil}, {"p99", "ms", figure.P99, figure.AtMost(0.7)},
		}},
		{2, "INT8, 16 callers", int8Model, "2", 16, []goal{
			{"throughput", "/s", figure.Throughput, figure.AtLeast(1.5)}, {"p50", "ms", figure.P50, nil}, {"p99", "ms", figure.P99, nil},
		}},
		{3, "stand-in, 32 callers", standinModel, "accelerator", 32, []goal{
			{"throughput", "/s", figure.Throughput, figure.AtLeast(1.6)}, {"p50", "ms", figure.P50, nil}, {"p99", "ms", figure.P99, nil},
		}},
		{4, "float32, one caller", float32Model, "1", 1, []goal{
			{"throughput", "/s", figure.Throughput, nil}, {"p50", "ms", figure.P50, figure.AtMost(0.75)}, {"p99", "ms", figure.P99, nil},
		}},
	}
}

// compare takes rounds of a contest: a window of ours, then one of the rival's, which
// is started anew each time: one that has nothing to do may be busy all the same.
// Ours take next to nothing then, and stay.
func (b *runner) compare(ctx context.Context, c contest) error {
	s, err := b.ours(ctx)
	if err != nil {
		return err
	}
	us, err := b.openOurs(ctx, s, c.ours, c.callers)
	if err != nil {
		return err
	}
	for round := 0; round < b.Rounds && err == nil; round++ {
		if err = b.window(ctx, c, us, round); err == nil && b.rival.Given() {
			err = b.rivalWindow(ctx, c, round)
		}
	}
	if err := errors.Join(err, us.Close()); err != nil {
		return err
	}
	for _, g := range c.goals {
		b.Add(b.judge(c, g))
	}
	return nil
}

// rivalWindow starts the rival for one measurement.
func (b *runner) rivalWindow(ctx context.Context, c contest, round int) error {
	return b.rival.With(ctx, modelMark, c.rival, b.Log, func(s *server.Server) error {
		them, err := b.open(ctx, rival, s, b.rival.Model, c.callers)
		if err != nil {
			return err
		}
		return errors.Join(b.window(ctx, c, them, round), them.Close())
	})
}

// window is one measurement of a side.
func (b *runner) window(ctx context.Context, c contest, s *side, round int) error {
	w, err := whole(s.closed(ctx, c.callers, b.Window))
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	w.sample.Row, w.sample.Round, w.sample.Name = c.row, round+1, c.name
	b.Keep(w.sample)
	b.show(w.sample)
	b.draw(round, w, fmt.Sprintf("Row %d, %s: %s", c.row, c.name, s.name))
	return nil
}

// draw keeps a window of the first round for the page: more of them would show the
// same.
func (b *runner) draw(round int, w window, name string) {
	if round == 0 {
		w.run.Name = name
		b.runs = append(b.runs, w.run)
	}
}

// show tells of a sample.
func (b *runner) show(s figure.Sample) {
	cpu := ""
	if s.Value > 0 {
		cpu = fmt.Sprintf("  CPU %.2f ms an answer", s.Value)
	}
	b.Say("row %d round %d  %-22s %-6s %8.1f/s  p50 %.2f ms  p99 %.2f ms%s  errors %d", s.Row, s.Round, s.Name, s.Side, s.Throughput, s.P50, s.P99, cpu, s.Errors)
}

// judge makes a figure of the rounds.
func (b *runner) judge(c contest, g goal) figure.Figure {
	us, them := b.Of(c.row, ours, c.name, g.number), b.Of(c.row, rival, c.name, g.number)
	f := figure.Figure{Ours: figure.Median(us...)}
	if len(them) == len(us) && len(us) > 0 {
		f = paired(us, them, "the rival")
	}
	f.Row, f.Name, f.Unit, f.Bar = c.row, c.name+": "+g.name, g.unit, g.bar
	return f
}

// paired compares us with neighbours one by one: its ratio is the median of theirs.
func paired(us, them []float64, against string) figure.Figure {
	ratios := make([]float64, len(us))
	for i := range us {
		ratios[i] = us[i] / them[i]
	}
	their := figure.Median(them...)
	return figure.Figure{Ours: figure.Median(us...), Rival: &their, Paired: figure.Median(ratios...), Against: against}
}
