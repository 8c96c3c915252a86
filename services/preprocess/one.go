package preprocess

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// one turns one image into its part of the result, once it is let in.
func (j *job) one(ctx context.Context, index int) (t modelserver.Timing, err error) {
	grant, err := j.model.backend.queue.Admit(ctx, j.images[index].cost)
	t.Queue = grant.Waited
	if err != nil {
		return t, err
	}
	defer grant.Release()
	j.started()
	// A batch's images are on goroutines that nobody else stands around.
	err = failure.Guard("the backend broke on the image", func() error { return j.work(ctx, index, &t) })
	return t, err
}

// work decodes and lays out one image, and tells how long both took.
func (j *job) work(ctx context.Context, index int, t *modelserver.Timing) error {
	begin := time.Now()
	img, err := j.decode(ctx, index, begin)
	t.ComputeInput = time.Since(begin)
	if err != nil {
		return err
	}
	defer img.Release()
	if err := failure.OfContext(ctx); err != nil {
		return err
	}
	begin = time.Now()
	err = j.transform(ctx, index, img, begin)
	t.ComputeInfer = time.Since(begin)
	return err
}

func (j *job) decode(ctx context.Context, index int, begin time.Time) (*pixels.Image, error) {
	b, s := j.model.backend, &j.images[index]
	ctx, span := b.startDecode(ctx, s, index)
	defer span.End()
	img, err := s.pixels(ctx, &b.pool)
	b.metrics.decoded(s.header, err, s.opened+time.Since(begin))
	mark(span, err)
	return img, err
}

// start begins a span. One of a request that is not traced costs nothing.
func (b *Backend) start(ctx context.Context, name string) (context.Context, trace.Span) {
	if parent := trace.SpanFromContext(ctx); parent.SpanContext().IsValid() && !parent.SpanContext().IsSampled() && !parent.IsRecording() {
		return ctx, parent // to end it does nothing
	}
	return b.tracer.Start(ctx, name)
}

func (b *Backend) startDecode(ctx context.Context, s *source, index int) (context.Context, trace.Span) {
	ctx, span := b.start(ctx, "decode")
	if span.IsRecording() {
		span.SetAttributes(
			attribute.Int("triptych.image.index", index),
			attribute.Int("triptych.image.bytes", len(s.data)),
			attribute.String("triptych.image.format", string(s.header.Format)),
			attribute.Int("triptych.image.width", s.header.Width),
			attribute.Int("triptych.image.height", s.header.Height),
		)
	}
	return ctx, span
}

// pixels decodes what the model is going to see of an image.
func (p *picture) pixels(ctx context.Context, pool *pixels.Pool) (*pixels.Image, error) {
	region, err := p.plan.Read(p.header.Reduced(p.reduce))
	if err != nil {
		return nil, err
	}
	return p.header.Decode(ctx, pool, decode.View{Reduce: p.reduce, Region: region})
}

func (j *job) transform(ctx context.Context, index int, img *pixels.Image, begin time.Time) error {
	b := j.model.backend
	_, span := b.start(ctx, "transform")
	defer span.End()
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("triptych.image.index", index))
	}
	err := j.images[index].plan.Apply(img, &b.pool, j.part(index))
	b.metrics.transform.Observe(time.Since(begin).Seconds())
	if err != nil {
		b.metrics.refuse(err)
	}
	mark(span, err)
	return err
}

// mark shows a failure in its span.
func mark(span trace.Span, err error) {
	if err == nil {
		return
	}
	telemetry.Fail(span, err)
	span.SetAttributes(attribute.String("error.type", failure.KindOf(err).String()))
}
