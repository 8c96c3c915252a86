package modelserver

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// Sampler is a Model that can be compared with the one whose place it takes: it
// knows requests that both should answer alike. A Model that is none is compared
// by its configuration only.
type Sampler interface {
	// Samples are requests with raw contents. They are only read.
	Samples(ctx context.Context) ([]Sample, error)
}

// Sample is a request to compare two versions on.
type Sample struct {
	Name    string
	Request *inference.ModelInferRequest
}

// gate decides whether the versions that were just loaded may take traffic: each
// is compared with the version in service of its number, or else with the newest
// in service. One that does not fit is closed and becomes one that failed to
// load. With nothing in service there is nothing to break.
func (r *Registry) gate(ctx context.Context, old, fresh *model) error {
	if !old.serving() {
		return nil
	}
	var refused error
	for _, v := range fresh.sorted() {
		if rival := old.rival(v.number); v.inService() && rival != nil && rival != v {
			refused = errors.Join(refused, r.admit(ctx, rival, v))
		}
	}
	return refused
}

// rival is the version in service that a new one is compared with.
func (m *model) rival(number int64) *version {
	if v := m.versions[number]; v != nil && v.inService() {
		return v
	}
	for _, v := range slices.Backward(m.sorted()) {
		if v.inService() {
			return v
		}
	}
	return nil
}

// admit compares one new version with one that serves, and takes it back when
// it does not fit.
func (r *Registry) admit(ctx context.Context, rival, v *version) error {
	ctx, span := r.telemetry.Tracer.Start(ctx, "model.gate", trace.WithAttributes(
		attribute.String("triptych.model.name", v.name),
		attribute.String("triptych.model.version", v.String()),
		attribute.String("triptych.gate.compared_with", rival.String())))
	defer span.End()
	why := compareVersions(ctx, rival, v)
	if why == nil {
		span.SetAttributes(attribute.String("triptych.gate.verdict", "passed"))
		return nil
	}
	verdict, err := why.verdict(), why.refusal(rival, v)
	if gone := failure.OfContext(ctx); gone != nil {
		verdict, err = "given up", gone
		v.logger.Info("comparison given up", "compared_with", rival.number)
	} else {
		r.swaps.refuse(v.name, why.reason)
		v.logger.Error("version refused", "compared_with", rival.number, "reason", verdict, "error", err)
	}
	span.SetAttributes(attribute.String("triptych.gate.verdict", verdict))
	telemetry.Fail(span, err)
	return errors.Join(err, v.takeBack(ctx, failure.Message(err)))
}

// takeBack closes a version that was loaded and that nobody has seen yet.
func (v *version) takeBack(ctx context.Context, reason string) error {
	var err error
	if v.leave() {
		err = v.drain(ctx)
	}
	v.failed(reason)
	return err
}

// mismatch is why a new version must not take the place of the one that serves.
type mismatch struct {
	reason  refusedFor
	message string
	cause   error // for the log
}

func (m *mismatch) verdict() string { return string(m.reason) }

func (m *mismatch) refusal(rival, v *version) error {
	return failure.Wrap(m.cause, failure.Conflict,
		`version %d of model %q is refused, version %d serves on: %s (the parameter "gate" with the value "off" lets it pass)`,
		v.number, v.name, rival.number, m.message)
}
