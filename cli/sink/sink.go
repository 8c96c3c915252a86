// Package sink receives traces by OTLP and keeps the last of them in memory, for
// one machine without Jaeger. What it keeps is bounded: the oldest trace goes
// when there are too many.
package sink

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"sync"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"triptych/cli/traces"
)

// Bounds of what is kept.
const (
	maxTraces = 1000
	maxSpans  = 1000 // of one trace
)

// Sink keeps traces. Safe for concurrent use.
type Sink struct {
	collector.UnimplementedTraceServiceServer
	server *grpc.Server
	done   chan struct{}

	mu     sync.Mutex
	traces map[string]*traces.Trace
	order  []string // trace ids, oldest first
}

// New makes an empty sink.
func New() *Sink {
	s := &Sink{server: grpc.NewServer(), traces: map[string]*traces.Trace{}, done: make(chan struct{})}
	collector.RegisterTraceServiceServer(s.server, s)
	return s
}

// Start listens on a free port of loopback and returns its address.
func (s *Sink) Start(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		defer close(s.done)
		// Serve ends with an error only when the listener breaks: then traces are
		// missing, which the services count as dropped.
		_ = s.server.Serve(l)
	}()
	return l.Addr().String(), nil
}

// Stop ends the listening. Call it once, after Start.
func (s *Sink) Stop() {
	s.server.Stop()
	<-s.done
}

// Export implements the OTLP trace service.
func (s *Sink) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range req.GetResourceSpans() {
		service := serviceName(resource.GetResource().GetAttributes())
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.add(service, span)
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func (s *Sink) add(service string, span *otlp.Span) {
	id := hex.EncodeToString(span.GetTraceId())
	t := s.traces[id]
	if t == nil {
		t = &traces.Trace{TraceID: id, Processes: map[string]traces.Process{}}
		s.traces[id] = t
		s.order = append(s.order, id)
		if len(s.order) > maxTraces {
			delete(s.traces, s.order[0])
			s.order = s.order[1:]
		}
	}
	if len(t.Spans) < maxSpans {
		// The service's name is as good as a number for the process.
		t.Processes[service] = traces.Process{ServiceName: service}
		t.Spans = append(t.Spans, convert(service, span))
	}
}

// ServeHTTP answers GET /api/traces/{id} as Jaeger does.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	var body []byte
	var err error
	if t := s.traces[r.PathValue("id")]; t != nil {
		body, err = json.Marshal(traces.Answer{Data: []traces.Trace{*t}})
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		http.Error(w, "the trace can't be written", http.StatusInternalServerError)
	case body == nil:
		write(w, http.StatusNotFound, []byte(`{"data":[],"errors":[{"code":404,"msg":"trace not found"}]}`))
	default:
		write(w, http.StatusOK, body)
	}
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a reader that has gone needs no answer
}

// Route is where the sink answers on the admin port.
const Route = "GET /api/traces/{id}"
