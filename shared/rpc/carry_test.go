package rpc_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	"triptych/proto/inference"
	"triptych/shared/call"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
)

func TestIDAndPriorityTravel(t *testing.T) {
	var got call.Info
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), func(ctx context.Context, _ *request) (*response, error) {
		got = call.Of(ctx)
		return &response{}, nil
	})
	client := dial(t, rpc.DefaultConfig(), server.Address())
	raw := inference.NewGRPCInferenceServiceClient(foreign(t, server.Address()))
	sent := func(info call.Info) context.Context { return call.With(within(t, 10*time.Second), info) }
	header := func(pairs ...string) context.Context {
		return metadata.AppendToOutgoingContext(within(t, 10*time.Second), pairs...)
	}
	tests := map[string]struct {
		client inference.GRPCInferenceServiceClient
		ctx    context.Context
		want   call.Info // without an id: a new one
	}{
		"both":                     {client, sent(call.Info{RequestID: "r-1", Priority: 7}), call.Info{RequestID: "r-1", Priority: 7}},
		"neither":                  {client, sent(call.Info{}), call.Info{}},
		"an id that can't be sent": {client, sent(call.Info{RequestID: "a\nb", Priority: 1}), call.Info{Priority: 1}},
		"foreign":                  {raw, header("x-request-id", "r-2", "triptych-priority", "3"), call.Info{RequestID: "r-2", Priority: 3}},
		"foreign, invalid id":      {raw, header("x-request-id", "two words"), call.Info{}},
		"foreign, no number":       {raw, header("x-request-id", "r", "triptych-priority", "high"), call.Info{RequestID: "r"}},
		"foreign, negative":        {raw, header("x-request-id", "r", "triptych-priority", "-1"), call.Info{RequestID: "r"}},
		"foreign, out of range":    {raw, header("x-request-id", "r", "triptych-priority", "99999999999999999999"), call.Info{RequestID: "r"}},
	}
	doors := map[string]func(inference.GRPCInferenceServiceClient, context.Context) error{
		"call": func(c inference.GRPCInferenceServiceClient, ctx context.Context) error {
			_, err := c.ModelInfer(ctx, &request{})
			return err
		},
		"stream": func(c inference.GRPCInferenceServiceClient, ctx context.Context) error {
			stream, err := c.ModelStreamInfer(ctx)
			if err != nil {
				return err
			}
			if err := stream.Send(&request{}); err != nil {
				return err
			}
			_, err = stream.Recv()
			return err
		},
	}
	for name, tt := range tests {
		for door, pass := range doors {
			t.Run(name+"/"+door, func(t *testing.T) {
				if err := pass(tt.client, tt.ctx); err != nil {
					t.Fatal(err)
				}
				if tt.want.RequestID == "" && uuid.Validate(got.RequestID) == nil {
					got.RequestID = ""
				}
				if got != tt.want {
					t.Errorf("the server has %+v, want %+v", got, tt.want)
				}
			})
		}
	}
}

func TestTheTraceTravels(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tel := telemetry.Discard()
	tel.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	var inside trace.SpanContext
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), tel, func(ctx context.Context, _ *request) (*response, error) {
		inside = trace.SpanContextFromContext(ctx)
		return &response{}, nil
	})
	client := dial(t, rpc.DefaultConfig(), server.Address())
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	ctx := trace.ContextWithSpanContext(within(t, 10*time.Second), parent)
	if _, err := client.ModelInfer(ctx, &request{}); err != nil {
		t.Fatal(err)
	}
	// What is asked all the time makes no spans: it would bury those of requests.
	if _, err := client.RepositoryIndex(t.Context(), &inference.RepositoryIndexRequest{}); err == nil {
		t.Error("the index is not there, but answered")
	}
	stop(t, server) // ends the spans
	spans := recorder.Ended()
	if len(spans) != 1 {
		t.Fatalf("%d spans, want 1", len(spans))
	}
	span := spans[0]
	if span.Name() != "inference.GRPCInferenceService/ModelInfer" || span.SpanKind() != trace.SpanKindServer {
		t.Errorf("the span is %s %q", span.SpanKind(), span.Name())
	}
	if span.Parent().SpanID() != parent.SpanID() || span.SpanContext().TraceID() != parent.TraceID() {
		t.Errorf("the span's parent is %v, want %v", span.Parent(), parent)
	}
	if !inside.Equal(span.SpanContext()) {
		t.Errorf("the handler is in span %v, want the server's %v", inside, span.SpanContext())
	}
}

// RPC-06: the server sees the caller's deadline and its going away.
func TestTheDeadlineTravels(t *testing.T) {
	gone := make(chan error, 1)
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), func(ctx context.Context, _ *request) (*response, error) {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 300*time.Millisecond {
			t.Errorf("the deadline is %v, %t", deadline, ok)
		}
		<-ctx.Done()
		gone <- ctx.Err()
		return nil, ctx.Err()
	})
	client := dial(t, rpc.DefaultConfig(), server.Address())
	if _, err := client.ModelInfer(within(t, 300*time.Millisecond), &request{}); err == nil {
		t.Error("no error")
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the server works on after the caller's deadline")
	}
}
