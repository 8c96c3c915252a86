package preprocess

import (
	"context"
	"time"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/transform"
	"triptych/shared/failure"
)

// picture is what is known of an image from its header alone.
type picture struct {
	header decode.Header
	plan   *transform.Plan
	// reduce is by what the decoder is to divide its sides.
	reduce int
	// cost is the most bytes that the work on it holds.
	cost int64
	// opened is how long it took to read the header.
	opened time.Duration
}

// open reads the headers of all images. That is cheap and needs no slot: who is
// refused by a header learns it at once, and nothing was allocated. So a bad header
// is named before a bad body that stands in front of it.
func (j *job) open(ctx context.Context) error {
	for i := range j.images {
		if err := failure.OfContext(ctx); err != nil {
			return err
		}
		if err := j.look(ctx, i); err != nil {
			return j.named(i, err)
		}
	}
	return nil
}

// look reads one header. What is refused has its span too.
func (j *job) look(ctx context.Context, index int) error {
	s, begin := &j.images[index], time.Now()
	err := s.read(j.model.plan)
	s.opened = time.Since(begin)
	if err != nil {
		b := j.model.backend
		_, span := b.startDecode(ctx, s, index)
		mark(span, err)
		span.End()
		b.metrics.refuse(err)
	}
	return err
}

// read fills in the picture of a source.
func (s *source) read(plan *plan) error {
	var err error
	if s.header, err = s.open(plan.decode); err != nil {
		return err
	}
	orientation := s.header.Orientation
	if !plan.upright {
		orientation = 1
	}
	size := s.header.Reduced(1)
	if s.plan, err = plan.transform.Plan(size, orientation); err != nil {
		return err
	}
	s.reduce = plan.reduction(s.plan, s.header)
	s.cost = s.header.Memory + s.plan.Memory(size)
	return nil
}
