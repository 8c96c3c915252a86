package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"triptych/shared/call"
	"triptych/shared/stream"
)

const (
	parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	other  = "00-11111111111111111111111111111111-2222222222222222-00"
)

// OTL-01: what a server or another client has made of the header's name, the trace
// goes on; what can't be read begins a new one.
func TestTraceIsFound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header nats.Header
		want   string // the trace's id, empty for none
	}{
		"lower case":              {nats.Header{"traceparent": {parent}}, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"as net/http writes it":   {nats.Header{"Traceparent": {parent}}, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"upper case":              {nats.Header{"TRACEPARENT": {parent}}, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"two values":              {nats.Header{"traceparent": {parent, other}}, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"two spellings":           {nats.Header{"Traceparent": {other}, "traceparent": {parent}}, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"an empty one before it":  {nats.Header{"traceparent": {}, "Traceparent": {parent}}, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"not sampled":             {nats.Header{"traceparent": {other}}, "11111111111111111111111111111111"},
		"a later version":         {nats.Header{"traceparent": {"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"}}, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"absent":                  {nats.Header{}, ""},
		"no headers":              {nil, ""},
		"empty":                   {nats.Header{"traceparent": {""}}, ""},
		"no list":                 {nats.Header{"traceparent": nil}, ""},
		"no such thing":           {nats.Header{"traceparent": {"hello"}}, ""},
		"zeros":                   {nats.Header{"traceparent": {"00-00000000000000000000000000000000-00f067aa0ba902b7-01"}}, ""},
		"capital digits":          {nats.Header{"traceparent": {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"}}, ""},
		"the forbidden version":   {nats.Header{"traceparent": {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}, ""},
		"a state without a trace": {nats.Header{"tracestate": {"a=b"}}, ""},
	}
	for name, test := range tests {
		ctx, deadline := stream.Extract(context.Background(), test.header)
		span := trace.SpanContextFromContext(ctx)
		got := ""
		if span.IsValid() {
			got = span.TraceID().String()
		}
		if got != test.want || !deadline.IsZero() || span.IsValid() && !span.IsRemote() {
			t.Errorf("%s: trace %q, want %q, deadline %v", name, got, test.want, deadline)
		}
	}
}

// One trace, written as W3C has it and read back by a server's way.
func TestTraceTravels(t *testing.T) {
	t.Parallel()
	c := made(t)
	begin := propagation.TraceContext{}.Extract(call.With(context.Background(), call.Info{RequestID: "abc-1", Priority: 3}),
		propagation.MapCarrier{"traceparent": parent, "tracestate": "vendor=x"})
	until := time.UnixMilli(1_700_000_000_123)
	h := nats.Header{}
	stream.Inject(begin, h, until)
	for _, key := range []string{"traceparent", "tracestate", call.RequestIDHeader, call.PriorityHeader, stream.DeadlineHeader} {
		if len(h[key]) != 1 {
			t.Errorf("no header %q in %v", key, h)
		}
	}
	sub := stream.InputSubject("j", "0")
	if _, err := c.JetStream().PublishMsg(t.Context(), &nats.Msg{Subject: sub, Header: h}); err != nil {
		t.Fatal(err)
	}
	s, err := c.JetStream().Stream(t.Context(), stream.Inputs)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := s.GetLastMsgForSubject(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	ctx, deadline := stream.Extract(t.Context(), msg.Header)
	span := trace.SpanContextFromContext(ctx)
	if span.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" || span.SpanID().String() != "00f067aa0ba902b7" || !span.IsSampled() || span.TraceState().String() != "vendor=x" {
		t.Errorf("the trace is %v", span)
	}
	if info := call.Of(ctx); info.RequestID != "abc-1" || info.Priority != 3 || !deadline.Equal(until) {
		t.Errorf("%+v, %v", info, deadline)
	}
}

func TestNothingTravels(t *testing.T) {
	t.Parallel()
	h := nats.Header{}
	stream.Inject(context.Background(), h, time.Time{})
	if len(h) > 0 {
		t.Errorf("headers %v", h)
	}
}

func TestOtherHeaders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header   nats.Header
		id       string
		priority uint64
		deadline int64
	}{
		"other case":        {nats.Header{"X-Request-Id": {"abc"}, "Triptych-Priority": {"2"}, "TRIPTYCH-DEADLINE": {"5"}}, "abc", 2, 5},
		"unreadable":        {nats.Header{call.RequestIDHeader: {"a\nb"}, call.PriorityHeader: {"-1"}, stream.DeadlineHeader: {"soon"}}, "", 0, 0},
		"before the epoch":  {nats.Header{stream.DeadlineHeader: {"-5"}}, "", 0, -5},
		"one that overruns": {nats.Header{stream.DeadlineHeader: {"99999999999999999999"}}, "", 0, 0},
	}
	for name, test := range tests {
		ctx, deadline := stream.Extract(context.Background(), test.header)
		info := call.Of(ctx)
		ms := int64(0)
		if !deadline.IsZero() {
			ms = deadline.UnixMilli()
		}
		if info.RequestID != test.id || info.Priority != test.priority || ms != test.deadline {
			t.Errorf("%s: %+v, %d", name, info, ms)
		}
	}
}
