package preprocess

import (
	"context"
	"image"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// one turns one image into its part of the result, once there is a worker.
func (j *job) one(ctx context.Context, index int) (t modelserver.Timing, err error) {
	workers := j.model.backend.workers
	if t.Queue, err = workers.acquire(ctx); err != nil {
		return t, err
	}
	defer workers.release()
	j.started()
	// A batch's images are on goroutines that nobody else stands around.
	err = failure.Guard("the backend broke on the image", func() error { return j.work(ctx, index, &t) })
	return t, err
}

// work decodes and lays out one image, and tells how long both took.
func (j *job) work(ctx context.Context, index int, t *modelserver.Timing) error {
	begin := time.Now()
	img, err := j.decode(ctx, index)
	t.ComputeInput = time.Since(begin)
	if err != nil {
		return err
	}
	if err := failure.OfContext(ctx); err != nil {
		return err
	}
	begin = time.Now()
	err = j.transform(ctx, index, img)
	t.ComputeInfer = time.Since(begin)
	return err
}

func (j *job) decode(ctx context.Context, index int) (*image.NRGBA, error) {
	b := j.model.backend
	_, span := b.tracer.Start(ctx, "decode", trace.WithAttributes(
		attribute.Int("triptych.image.index", index), attribute.Int("triptych.image.bytes", len(j.images[index]))))
	defer span.End()
	begin := time.Now()
	result, err := decode.Decode(j.images[index], j.model.plan.decode)
	b.metrics.decoded(result, err, time.Since(begin))
	span.SetAttributes(
		attribute.String("triptych.image.format", string(result.Format)),
		attribute.Int("triptych.image.width", result.Width),
		attribute.Int("triptych.image.height", result.Height),
	)
	mark(span, err)
	return result.Image, err
}

func (j *job) transform(ctx context.Context, index int, img *image.NRGBA) error {
	b, t := j.model.backend, j.model.plan.transform
	_, span := b.tracer.Start(ctx, "transform", trace.WithAttributes(attribute.Int("triptych.image.index", index)))
	defer span.End()
	begin := time.Now()
	err := t.Apply(img, j.part(index))
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
