package sink_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triptych/cli/sink"
	"triptych/cli/traces"
	"triptych/shared/failure"
)

func text(v string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}}
}

func request(spans ...*otlp.Span) *collector.ExportTraceServiceRequest {
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*otlp.ResourceSpans{{
		Resource:   &resource.Resource{Attributes: []*common.KeyValue{{Key: "service.name", Value: text("gateway")}}},
		ScopeSpans: []*otlp.ScopeSpans{{Spans: spans}},
	}}}
}

func id(n int, size int) []byte {
	b := make([]byte, size)
	b[size-2], b[size-1] = byte(n>>8), byte(n)
	return b
}

// serve gives the sink's query API and a client of its OTLP port.
func serve(t *testing.T) (base string, export func(*collector.ExportTraceServiceRequest)) {
	t.Helper()
	s := sink.New()
	address, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	mux := http.NewServeMux()
	mux.Handle(sink.Route, s)
	query := httptest.NewServer(mux)
	t.Cleanup(func() { query.Close(); http.DefaultClient.CloseIdleConnections() })
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	client := collector.NewTraceServiceClient(conn)
	return query.URL, func(req *collector.ExportTraceServiceRequest) {
		if _, err := client.Export(context.Background(), req); err != nil {
			t.Error(err)
		}
	}
}

func TestReadWhatWasSent(t *testing.T) {
	base, export := serve(t)
	export(request(&otlp.Span{
		TraceId: id(1, 16), SpanId: id(2, 8), ParentSpanId: id(3, 8), Name: "run",
		StartTimeUnixNano: 5_000_000, EndTimeUnixNano: 7_500_000,
		Attributes: []*common.KeyValue{
			{Key: "size", Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: 4}}},
			{Key: "full", Value: &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: true}}},
			{Key: "part", Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: 0.5}}},
		},
		Links:  []*otlp.Span_Link{{TraceId: id(9, 16), SpanId: id(8, 8)}},
		Status: &otlp.Status{Code: otlp.Status_STATUS_CODE_ERROR, Message: "broke"},
	}))
	traceID := hex.EncodeToString(id(1, 16))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	got, err := traces.Wait(ctx, base, traceID)
	if err != nil {
		t.Fatal(err)
	}
	want := traces.Trace{
		TraceID:   traceID,
		Processes: map[string]traces.Process{"gateway": {ServiceName: "gateway"}},
		Spans: []traces.Span{{
			TraceID: traceID, SpanID: "0000000000000002", OperationName: "run", StartTime: 5000, Duration: 2500, ProcessID: "gateway",
			References: []traces.Reference{
				{RefType: "CHILD_OF", TraceID: traceID, SpanID: "0000000000000003"},
				{RefType: "FOLLOWS_FROM", TraceID: hex.EncodeToString(id(9, 16)), SpanID: "0000000000000008"},
			},
			Tags: []traces.Tag{
				{Key: "size", Type: "int64", Value: 4.0},
				{Key: "full", Type: "bool", Value: true},
				{Key: "part", Type: "float64", Value: 0.5},
				{Key: "error", Type: "bool", Value: true},
				{Key: "otel.status_description", Type: "string", Value: "broke"},
			},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBounds(t *testing.T) {
	base, export := serve(t)
	const most = 1000
	for n := range most + 1 {
		export(request(&otlp.Span{TraceId: id(n+1, 16), SpanId: id(1, 8)}))
	}
	many := make([]*otlp.Span, most+5)
	for n := range many {
		many[n] = &otlp.Span{TraceId: id(most+1, 16), SpanId: id(n+1, 8)}
	}
	export(request(many...))
	for name, tt := range map[string]struct{ id, status int }{
		"the oldest is gone":  {1, http.StatusNotFound},
		"the second is there": {2, http.StatusOK},
		"the last is there":   {most + 1, http.StatusOK},
	} {
		resp, err := http.Get(fmt.Sprintf("%s/api/traces/%s", base, hex.EncodeToString(id(tt.id, 16))))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s: status %d, want %d", name, resp.StatusCode, tt.status)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	got, err := traces.Wait(ctx, base, hex.EncodeToString(id(most+1, 16)))
	if err != nil || len(got.Spans) != most {
		t.Errorf("a huge trace has %d spans (%v), want %d", len(got.Spans), err, most)
	}
}

func TestWaitForAbsent(t *testing.T) {
	base, _ := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := traces.Wait(ctx, base, "00"); failure.KindOf(err) != failure.NotFound {
		t.Errorf("an absent trace: %v, want not found", err)
	}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	for what, base := range map[string]string{"nobody": "http://127.0.0.1:1", "something else": elsewhere.URL} {
		begin := time.Now()
		if _, err := traces.Wait(t.Context(), base, "00"); failure.KindOf(err) != failure.Unavailable || time.Since(begin) > time.Second {
			t.Errorf("%s there: %v after %s, want unavailable at once", what, err, time.Since(begin))
		}
	}
}
