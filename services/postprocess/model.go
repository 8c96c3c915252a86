package postprocess

import (
	"context"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/services/postprocess/classification"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
)

// topKParameter is the request parameter that changes how many classes an
// answer lists.
const topKParameter = "top_k"

// model is one loaded version. Safe for concurrent use.
type model struct {
	*settings
	maxTopK int
	tracer  trace.Tracer
	pool    sync.Pool // of *scratch
}

// scratch is memory that never leaves the model.
type scratch struct {
	logits []float64
	picks  []classification.Pick
}

var (
	_ modelserver.TimedModel = (*model)(nil)
	_ modelserver.Describer  = (*model)(nil)
)

func newModel(s *settings, maxTopK int, tracer trace.Tracer) *model {
	m := &model{settings: s, maxTopK: maxTopK, tracer: tracer}
	m.pool.New = func() any { return &scratch{logits: make([]float64, s.classes)} }
	return m
}

// Close has nothing to give back.
func (m *model) Close() error { return nil }

// Properties tells how scores are made and how many labels were read.
func (m *model) Properties() map[string]string {
	p := map[string]string{
		"activation": string(m.activation),
		"classes":    strconv.Itoa(m.classes),
		"top_k":      strconv.Itoa(m.topK),
	}
	if m.labels != nil {
		p["labels"] = strconv.Itoa(len(m.labels))
	}
	return p
}

// Infer is InferTimed for callers that don't ask about time.
func (m *model) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	resp, _, err := m.InferTimed(ctx, req)
	return resp, err
}

// InferTimed answers every row with its k best classes.
func (m *model) InferTimed(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	began := time.Now()
	ctx, span := m.tracer.Start(ctx, "top_k")
	defer span.End()
	resp, timing, err := m.infer(ctx, req, began)
	telemetry.Fail(span, err)
	return resp, timing, err
}

func (m *model) infer(ctx context.Context, req *inference.ModelInferRequest, began time.Time) (*inference.ModelInferResponse, modelserver.Timing, error) {
	k, err := m.wantedTopK(req)
	if err != nil {
		return nil, modelserver.Timing{}, err
	}
	data, rows, err := m.rows(req)
	if err != nil {
		return nil, modelserver.Timing{}, err
	}
	m.describe(trace.SpanFromContext(ctx), rows, k)
	scratch := m.pool.Get().(*scratch)
	defer m.pool.Put(scratch)

	picking := time.Now()
	if err := m.pick(ctx, scratch, data, rows, k); err != nil {
		return nil, modelserver.Timing{}, err
	}
	writing := time.Now()
	resp := &inference.ModelInferResponse{}
	for _, out := range m.outputs {
		if oip.Wanted(req, out.name) {
			oip.AddOutput(resp, out.tensor(scratch.picks, rows, k, m.batches, m.labels))
		}
	}
	return resp, modelserver.Timing{
		ComputeInput:  picking.Sub(began),
		ComputeInfer:  writing.Sub(picking),
		ComputeOutput: time.Since(writing),
		Batch:         rows,
		Executions:    1,
	}, nil
}

// wantedTopK is the request's top_k, or else the model's: all classes when it
// asks for more than there are.
func (m *model) wantedTopK(req *inference.ModelInferRequest) (int, error) {
	k, err := oip.IntParameter(req.GetParameters(), topKParameter, int64(m.topK))
	if err != nil {
		return 0, err
	}
	if k < 1 {
		return 0, failure.New(failure.Invalid, "parameter %q is %d, must be 1 or more", topKParameter, k)
	}
	k = min(k, int64(m.classes))
	if k > int64(m.maxTopK) {
		return 0, failure.New(failure.TooLarge, "parameter %q asks for %d classes, the server allows %d", topKParameter, k, m.maxTopK)
	}
	return int(k), nil
}

// rows finds the logits. The model server has checked the request already, so
// that what fails here is a caller inside the process.
func (m *model) rows(req *inference.ModelInferRequest) (data []byte, rows int, err error) {
	in, ok := oip.Input(req, m.input)
	row := m.classes * m.width
	if !ok || len(in.Data) == 0 || len(in.Data)%row != 0 {
		return nil, 0, failure.New(failure.Invalid, "input %q has %d bytes, must be rows of %d bytes", m.input, len(in.Data), row)
	}
	return in.Data, len(in.Data) / row, nil
}

// pick fills the scratch with k picks a row. One bad row fails the request, and
// the message names it.
func (m *model) pick(ctx context.Context, s *scratch, data []byte, rows, k int) error {
	s.picks = s.picks[:0]
	row := m.classes * m.width
	for i := range rows {
		if err := failure.OfContext(ctx); err != nil {
			return err
		}
		m.read(s.logits, data[i*row:(i+1)*row])
		s.picks = classification.TopK(s.picks, s.logits, k)
		if err := m.activation.Scores(s.logits, s.picks[i*k:]); err != nil {
			return failure.Wrap(err, failure.Internal, "%s for item %d of the batch", err, i)
		}
	}
	return nil
}

func (m *model) describe(span trace.Span, rows, k int) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		attribute.Int("triptych.batch.size", rows),
		attribute.Int("triptych.classes", m.classes),
		attribute.Int("triptych.top_k", k),
		attribute.String("triptych.activation", string(m.activation)),
	)
}
