package classify

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/gateway/classes"
	"triptych/shared/call"
	"triptych/shared/failure"
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
	Name        string               `json:"name,omitempty"`
	Predictions []classes.Prediction `json:"predictions,omitempty"`
	Error       *errorDocument       `json:"error,omitempty"`
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
