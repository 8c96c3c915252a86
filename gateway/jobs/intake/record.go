package intake

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// record makes a job's record out of its settings, now that all have come. What is
// only known when everything is stored is still missing.
func (in *Intake) record(ctx context.Context, d *draft) (*pb.Job, error) {
	asked, err := d.ask.check(in)
	if err != nil {
		return nil, err
	}
	t := d.target
	if t == nil {
		found, err := in.target(ctx, &d.ask)
		if err != nil {
			return nil, err
		}
		t = &found
	}
	job := &pb.Job{
		Id: d.id, Model: d.ask.model(), ModelVersion: d.ask.text["version"], Name: d.ask.text["name"], State: pb.State_STATE_ACCEPTED,
		Plan: t.plan, Input: t.input.Name, Shape: t.input.Shape, Parameters: d.ask.parameters,
		Priority: asked.priority, DeadlineMs: asked.deadline.UnixMilli(), CallbackUrl: d.ask.text["callback_url"],
		Idempotency: d.key, RequestId: call.Of(ctx).RequestID, Traceparent: traceparent(ctx),
		Items: d.items, Bytes: uint64(d.bytes),
	}
	if job.Digest, err = d.digest(); err != nil {
		return nil, err
	}
	topK, err := d.ask.topK()
	if topK != nil {
		job.Parameters = oip.Parameters{"top_k": topK}
		for name, value := range d.ask.parameters {
			job.Parameters[name] = value
		}
	}
	trace.SpanFromContext(ctx).SetAttributes(
		attribute.String("triptych.job.id", d.id), attribute.Int64("triptych.job.items", int64(d.items)), attribute.Int64("triptych.job.bytes", d.bytes))
	return job, err
}

func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get("traceparent")
}

// digest is of all that was asked for, as it was written: the settings, and the items
// with their names, their bytes and their order. It is empty without an idempotency
// key.
func (d *draft) digest() ([]byte, error) {
	if d.sum == nil {
		return nil, nil
	}
	h := sha256.New()
	for _, name := range names {
		text := d.ask.text[name]
		if name == "model" {
			text = cmp.Or(text, defaultModel)
		}
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		_, _ = h.Write([]byte(text))
	}
	parameters, err := proto.MarshalOptions{Deterministic: true}.Marshal(&inference.ModelInferRequest{Parameters: d.ask.parameters})
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the parameters of a job can't be written")
	}
	_, _ = h.Write(parameters)
	_, _ = h.Write(d.sum.Sum(nil))
	return h.Sum(nil), nil
}
