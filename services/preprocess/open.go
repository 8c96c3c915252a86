package preprocess

import (
	"context"
	"time"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/transform"
)

// picture is an image of which nothing is known but what its header says.
type picture struct {
	header decode.Header
	plan   *transform.Plan
	// cost is the most bytes that the work on it holds.
	cost int64
	// opened is how long it took to read the header.
	opened time.Duration
}

// open reads the headers of all images. That is cheap and needs no slot: who is
// refused by a header learns it at once, and nothing was allocated. So a bad header
// is named before a bad body that stands in front of it.
func (j *job) open(ctx context.Context) error {
	j.pictures = make([]picture, len(j.images))
	for i := range j.images {
		if err := j.look(ctx, i); err != nil {
			return j.named(i, err)
		}
	}
	return nil
}

// look reads one header. What is refused has its span too.
func (j *job) look(ctx context.Context, index int) error {
	p, begin := &j.pictures[index], time.Now()
	err := p.read(j.images[index], j.model.plan)
	p.opened = time.Since(begin)
	if err != nil {
		b := j.model.backend
		_, span := b.startDecode(ctx, j, index, begin)
		mark(span, err)
		span.End()
		b.metrics.refuse(err)
	}
	return err
}

func (p *picture) read(data []byte, plan *plan) error {
	var err error
	if p.header, err = decode.Open(data, plan.decode); err != nil {
		return err
	}
	orientation := p.header.Orientation
	if !plan.upright {
		orientation = 1
	}
	size := p.header.Reduced(1)
	if p.plan, err = plan.transform.Plan(size, orientation); err != nil {
		return err
	}
	p.cost = p.header.Memory + p.plan.Memory(size)
	return nil
}
