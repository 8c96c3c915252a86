package images

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/images/ours"
	"triptych/loadtest/bench/turns"
)

// imageNet is the work of most classifiers.
func imageNet(files ...string) turns.Task {
	return turns.Task{Kind: turns.Image, Files: files, Size: 256, Crop: 224, Filter: "bicubic"}
}

// small is row 1: the photographs that models are trained on.
func (b *runner) small(ctx context.Context) error {
	files, err := b.photographs(small, 4)
	if err != nil {
		return err
	}
	return b.againstPillow(ctx, func(us, pillow *turns.Side) error {
		task := imageNet(files...)
		return b.compare(1, "JPEG "+small+" to 224", b.Rounds, us, task, rival{side: pillow, task: task, bar: figure.AtLeast(2)})
	})
}

// large is row 2: the photographs that telephones take.
func (b *runner) large(ctx context.Context) error {
	return b.largeOnes(ctx, 2, "JPEG "+large+" to 224", false, figure.AtLeast(1.5))
}

// scaled is row 3: the same, with the decoder dividing the picture.
func (b *runner) scaled(ctx context.Context) error {
	return b.largeOnes(ctx, 3, "JPEG "+large+" to 224, decode scaled", true, figure.AtLeast(1))
}

func (b *runner) largeOnes(ctx context.Context, row int, name string, scaled bool, bar *figure.Bar) error {
	files, err := b.photographs(large, 2)
	if err != nil {
		return err
	}
	return b.againstPillow(ctx, func(us, pillow *turns.Side) error {
		task := imageNet(files...)
		task.Scaled = scaled
		return b.compare(row, name, b.Rounds, us, task, rival{side: pillow, task: task, bar: bar})
	})
}

// resizeAlone is row 4: pixels to pixels.
func (b *runner) resizeAlone(ctx context.Context) error {
	files, err := b.photographs(medium, 1)
	if err != nil {
		return err
	}
	task := turns.Task{Kind: turns.Resize, Files: files, Size: 256, Filter: "bicubic"}
	err = b.againstPillow(ctx, func(us, pillow *turns.Side) error {
		return b.compare(4, "resize "+medium+" to 256", b.Rounds, us, task, rival{side: pillow, task: task, bar: figure.AtLeast(4)})
	})
	if err != nil {
		return err
	}
	other := task
	other.Library = ours.Imaging
	return b.with(ctx, b.startOurs, func(library *turns.Side) error {
		library.Name = ours.Imaging
		return b.with(ctx, b.startOurs, func(us *turns.Side) error {
			return b.compare(4, "resize "+medium+" to 256", b.Rounds, us, task, rival{side: library, task: other, bar: figure.AtLeast(10), other: true})
		})
	})
}

// allSamples is row 8: how it is with other formats. There is no bar.
func (b *runner) allSamples(ctx context.Context) error {
	files, err := b.photographs(medium, 1)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(b.samples)
	if err != nil {
		return err
	}
	for _, e := range entries {
		files = append(files, filepath.Join(b.samples, e.Name()))
	}
	return b.againstPillow(ctx, func(us, pillow *turns.Side) error {
		for _, file := range files {
			task := imageNet(file)
			task.Upright = true
			if err := b.compare(8, filepath.Base(file)+" to 224", b.few(), us, task, rival{side: pillow, task: task}); err != nil {
				return err
			}
		}
		return nil
	})
}

// againstPillow runs both sides while f runs.
func (b *runner) againstPillow(ctx context.Context, f func(us, pillow *turns.Side) error) error {
	return b.with(ctx, b.startOurs, func(us *turns.Side) error {
		return b.with(ctx, b.startPillow, func(pillow *turns.Side) error { return f(us, pillow) })
	})
}

// with runs a side while f runs.
func (b *runner) with(ctx context.Context, start func(context.Context) (*turns.Side, error), f func(*turns.Side) error) error {
	side, err := start(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(side), side.Close())
}
