package classify

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// document is the answer.
type document struct {
	Model     modelDocument    `json:"model"`
	Results   []resultDocument `json:"results"`
	RequestID string           `json:"request_id"`
	TraceID   string           `json:"trace_id"`
	Timings   timings          `json:"timings_ms"`
}

type modelDocument struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type resultDocument struct {
	Name        string         `json:"name,omitempty"`
	Predictions []prediction   `json:"predictions,omitempty"`
	Error       *errorDocument `json:"error,omitempty"`
}

type prediction struct {
	Label string  `json:"label"`
	Score float32 `json:"score"`
	Class int32   `json:"class"`
}

type errorDocument struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func newDocument(ctx context.Context, model string, results []*result, total time.Duration) *document {
	doc := &document{
		Model:     modelDocument{Name: model},
		Results:   make([]resultDocument, 0, len(results)),
		RequestID: call.Of(ctx).RequestID,
		Timings:   timingsOf(results, total),
	}
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		doc.TraceID = sc.TraceID().String()
	}
	for _, r := range results {
		if r.err != nil {
			kind := failure.KindOf(r.err)
			doc.Results = append(doc.Results, resultDocument{Name: r.name, Error: &errorDocument{kind.String(), failure.Message(r.err)}})
			continue
		}
		doc.Results = append(doc.Results, resultDocument{Name: r.name, Predictions: r.predictions})
		if doc.Model.Version == "" {
			doc.Model = modelDocument{r.model, r.version}
		}
	}
	return doc
}

// predictions reads the three outputs, which must agree with each other.
func predictions(resp *inference.ModelInferResponse) ([]prediction, error) {
	labels, scores, classes := output(resp, labelOutput, oip.Bytes), output(resp, scoreOutput, "FP32"), output(resp, classOutput, "INT32")
	if labels == nil || scores == nil || classes == nil {
		return nil, failure.New(failure.Internal, "the model did not give LABEL, SCORE and CLASS of one image")
	}
	n, err := oip.Elements(labels.Shape)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the model gave LABEL a wrong shape")
	}
	texts, err := oip.Strings(labels.Data, n)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the model gave a LABEL that is not whole")
	}
	if len(scores.Data) != 4*len(texts) || len(classes.Data) != 4*len(texts) {
		return nil, failure.New(failure.Internal, "the model gave %d labels, %d bytes of scores and %d of classes", len(texts), len(scores.Data), len(classes.Data))
	}
	found := make([]prediction, 0, len(texts))
	for i, text := range texts {
		score := math.Float32frombits(binary.LittleEndian.Uint32(scores.Data[4*i:]))
		if f := float64(score); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, failure.New(failure.Internal, "the model gave a score that is not finite")
		}
		found = append(found, prediction{string(text), score, int32(binary.LittleEndian.Uint32(classes.Data[4*i:]))})
	}
	return found, nil
}

func output(resp *inference.ModelInferResponse, name, datatype string) *oip.Tensor {
	if t, ok := oip.Output(resp, name); ok && t.Datatype == datatype {
		return &t
	}
	return nil
}
