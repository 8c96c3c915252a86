package preprocess

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/transform"
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
	img, plan, err := j.decode(ctx, index)
	t.ComputeInput = time.Since(begin)
	if err != nil {
		return err
	}
	defer img.Release()
	if err := failure.OfContext(ctx); err != nil {
		return err
	}
	begin = time.Now()
	err = j.transform(ctx, index, img, plan)
	t.ComputeInfer = time.Since(begin)
	return err
}

func (j *job) decode(ctx context.Context, index int) (*pixels.Image, *transform.Plan, error) {
	b, source := j.model.backend, j.images[index]
	ctx, span := b.tracer.Start(ctx, "decode", trace.WithAttributes(
		attribute.Int("triptych.image.index", index), attribute.Int("triptych.image.bytes", len(source.data))))
	defer span.End()
	begin := time.Now()
	header, err := source.open(j.model.plan.decode)
	var img *pixels.Image
	var plan *transform.Plan
	if err == nil {
		img, plan, err = j.pixels(ctx, header)
	}
	b.metrics.decoded(header, err, time.Since(begin))
	span.SetAttributes(
		attribute.String("triptych.image.format", string(header.Format)),
		attribute.Int("triptych.image.width", header.Width),
		attribute.Int("triptych.image.height", header.Height),
	)
	mark(span, err)
	return img, plan, err
}

// pixels decodes what the model is going to see of an image.
func (j *job) pixels(ctx context.Context, header decode.Header) (*pixels.Image, *transform.Plan, error) {
	orientation := header.Orientation
	if !j.model.plan.upright {
		orientation = 1
	}
	plan, err := j.model.plan.transform.Plan(header.Reduced(1), orientation)
	if err != nil {
		return nil, nil, err
	}
	reduce := j.model.plan.reduction(plan, header)
	region, err := plan.Read(header.Reduced(reduce))
	if err != nil {
		return nil, nil, err
	}
	img, err := header.Decode(ctx, &j.model.backend.pool, decode.View{Reduce: reduce, Region: region})
	return img, plan, err
}

func (j *job) transform(ctx context.Context, index int, img *pixels.Image, plan *transform.Plan) error {
	b := j.model.backend
	_, span := b.tracer.Start(ctx, "transform", trace.WithAttributes(attribute.Int("triptych.image.index", index)))
	defer span.End()
	begin := time.Now()
	err := plan.Apply(img, &b.pool, j.part(index))
	if j.places != nil {
		j.places[index] = plan.Placement()
	}
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
