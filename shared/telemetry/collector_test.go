package telemetry_test

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"triptych/shared/telemetry"
)

// receiver is a real OTLP collector in this process. While it is held, it takes
// spans and does not answer.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	address string
	hold    chan struct{} // nil: never held

	mu    sync.Mutex
	spans []*otlp.ResourceSpans
}

func startReceiver(t *testing.T, hold chan struct{}) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{address: l.Addr().String(), hold: hold}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *receiver) Export(ctx context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, req.GetResourceSpans()...)
	return &collector.ExportTraceServiceResponse{}, nil
}

// names are those of the spans that came, sorted.
func (r *receiver) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, resource := range r.spans {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				names = append(names, s.GetName())
			}
		}
	}
	slices.Sort(names)
	return names
}

// blackHole takes connections and never says a word.
func blackHole(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		for _, c := range conns {
			c.Close()
		}
	})
	return l.Addr().String()
}

func newTelemetry(t *testing.T, cfg telemetry.Config, logs *bytes.Buffer) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(t.Context(), "predictor", cfg, logs)
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

func sending(endpoint string) telemetry.Config {
	cfg := telemetry.DefaultConfig()
	cfg.OTLPEndpoint = endpoint
	return cfg
}

// makeSpans ends n spans and tells how long the slowest took.
func makeSpans(t *testing.T, tel *telemetry.Telemetry, n int) time.Duration {
	t.Helper()
	var slowest time.Duration
	for range n {
		begin := time.Now()
		_, span := tel.Tracer.Start(t.Context(), "work")
		span.End()
		slowest = max(slowest, time.Since(begin))
	}
	return slowest
}

// dropped is triptych_spans_dropped_total by reason.
func dropped(t *testing.T, tel *telemetry.Telemetry, reason string) int {
	t.Helper()
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "triptych_spans_dropped_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetName() == "reason" && m.GetLabel()[0].GetValue() == reason {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	return 0
}

func shutDown(t *testing.T, tel *telemetry.Telemetry, limit time.Duration) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin := time.Now()
	err := tel.Shutdown(ctx)
	return time.Since(begin), err
}
