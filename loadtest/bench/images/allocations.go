package images

import (
	"context"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/turns"
)

// The bars of row 7: how many allocations an image may take, and how many bytes
// beside its answer. A picture of 500x375 has 560 kB.
const (
	mostAllocations = 20
	mostBeside      = 64 << 10
)

// allocations is row 7: what the function asks of Go's memory in the steady state.
func (b *runner) allocations(ctx context.Context) error {
	return b.with(ctx, b.startOurs, func(us *turns.Side) error {
		for _, size := range []string{small, large} {
			if err := b.allocationsOf(us, size); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *runner) allocationsOf(us *turns.Side, size string) error {
	files, err := b.photographs(size, 2)
	if err != nil {
		return err
	}
	task := imageNet(files...)
	if _, err := us.Prepare(task); err != nil {
		return err
	}
	var count, beside []float64
	for round := range b.few() + 1 {
		turn, err := us.Turn(b.long())
		if err != nil {
			return err
		}
		if round == 0 {
			continue // pools fill
		}
		each := float64(turn.Allocated)/float64(turn.Count) - float64(3*task.Crop*task.Crop)
		count, beside = append(count, float64(turn.Mallocs)/float64(turn.Count)), append(beside, each)
		b.Keep(figure.Sample{Row: 7, Round: round, Side: oursName, Name: size, Value: float64(turn.Mallocs) / float64(turn.Count)})
	}
	b.Add(figure.Figure{Row: 7, Name: "allocations an image, " + size, Ours: figure.Median(count...), Against: figure.Absolute, Bar: figure.AtMost(mostAllocations)})
	b.Add(figure.Figure{Row: 7, Name: "bytes beside the answer, " + size, Ours: figure.Median(beside...), Against: figure.Absolute, Bar: figure.AtMost(mostBeside)})
	b.Say("row 7  %s: %.1f allocations, %.0f bytes beside the answer", size, figure.Median(count...), figure.Median(beside...))
	return nil
}
