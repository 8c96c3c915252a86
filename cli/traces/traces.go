// Package traces is a trace as Jaeger's query API gives it: written by the
// in-memory sink, read by the command line. One form serves both, so that the
// command line reads Jaeger as well.
package traces

// Answer is the body of GET /api/traces/{id}.
type Answer struct {
	Data []Trace `json:"data"`
}

// Trace is all spans of one trace.
type Trace struct {
	TraceID   string             `json:"traceID"`
	Spans     []Span             `json:"spans"`
	Processes map[string]Process `json:"processes"`
}

// Span is one span; times are in microseconds.
type Span struct {
	TraceID       string      `json:"traceID"`
	SpanID        string      `json:"spanID"`
	OperationName string      `json:"operationName"`
	References    []Reference `json:"references"`
	StartTime     int64       `json:"startTime"`
	Duration      int64       `json:"duration"`
	Tags          []Tag       `json:"tags"`
	ProcessID     string      `json:"processID"`
}

// The kinds of a reference.
const (
	ChildOf     = "CHILD_OF"
	FollowsFrom = "FOLLOWS_FROM"
)

// Reference is a span's tie to another: CHILD_OF, or FOLLOWS_FROM for a link.
type Reference struct {
	RefType string `json:"refType"`
	TraceID string `json:"traceID"`
	SpanID  string `json:"spanID"`
}

// Tag is one attribute.
type Tag struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// Process is who made a span.
type Process struct {
	ServiceName string `json:"serviceName"`
}

// Parent is the span that s is a child of; empty for a root.
func (s Span) Parent() string {
	for _, r := range s.References {
		if r.RefType == ChildOf && r.TraceID == s.TraceID {
			return r.SpanID
		}
	}
	return ""
}

// Service is the name of the service that made s.
func (t Trace) Service(s Span) string { return t.Processes[s.ProcessID].ServiceName }
