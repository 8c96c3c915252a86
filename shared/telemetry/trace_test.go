package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// OTL-02: what a finished request left is at the collector when Shutdown returns.
func TestSpansArriveBeforeTheEnd(t *testing.T) {
	r := startReceiver(t, nil)
	tel := newTelemetry(t, sending(r.address), &bytes.Buffer{})
	ctx, request := tel.Tracer.Start(t.Context(), "request")
	_, step := tel.Tracer.Start(ctx, "step")
	step.End()
	request.End()
	if _, err := shutDown(t, tel, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := r.names(); !slices.Equal(got, []string{"request", "step"}) {
		t.Fatalf("spans %v arrived", got)
	}
	resource := r.spans[0].GetResource().GetAttributes()
	for _, a := range resource {
		if a.GetKey() == "service.name" && a.GetValue().GetStringValue() != "predictor" {
			t.Errorf("service.name is %s", a.GetValue())
		}
	}
	if n := dropped(t, tel, "export") + dropped(t, tel, "queue"); n != 0 {
		t.Errorf("%d spans are counted as dropped", n)
	}
	if _, err := shutDown(t, tel, time.Second); err != nil {
		t.Errorf("Shutdown again: %v", err)
	}
}

// One text that is not UTF-8, such as a caller's path, takes no other span with it.
func TestTextsThatAreNotUTF8(t *testing.T) {
	r := startReceiver(t, nil)
	tel := newTelemetry(t, sending(r.address), &bytes.Buffer{})
	bad := "a\xffb"
	_, span := tel.Tracer.Start(t.Context(), "name "+bad, trace.WithAttributes(attribute.String("url.path", bad), attribute.StringSlice("all", []string{"ok", bad})))
	span.AddEvent("event "+bad, trace.WithAttributes(attribute.String("at", bad)))
	span.RecordError(errors.New(bad))
	span.SetStatus(codes.Error, bad)
	span.End()
	makeSpans(t, tel, 1)
	if _, err := shutDown(t, tel, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if n := dropped(t, tel, "export"); n != 0 || len(r.names()) != 2 {
		t.Errorf("spans %q arrived, %d are counted as dropped", r.names(), n)
	}
	if text := fmt.Sprint(r.spans); strings.Count(text, "a\uFFFDb") != 7 {
		t.Errorf("not every text is there, with its bad byte replaced:\n%s", text)
	}
}

// A caller's own decision is followed, whatever the ratio here.
func TestSampling(t *testing.T) {
	r := startReceiver(t, nil)
	cfg := sending(r.address)
	cfg.SampleRatio = 0
	tel := newTelemetry(t, cfg, &bytes.Buffer{})
	parent := func(flags trace.TraceFlags) context.Context {
		return trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: flags, Remote: true,
		}))
	}
	for name, ctx := range map[string]context.Context{"root": t.Context(), "kept": parent(trace.FlagsSampled), "not kept": parent(0)} {
		_, span := tel.Tracer.Start(ctx, name)
		span.End()
	}
	if _, err := shutDown(t, tel, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := r.names(); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("spans %v arrived, want that of the caller who keeps its trace", got)
	}
}

// Without a collector nothing is kept, but there are ids to go by, and a caller's
// trace goes on.
func TestIdsWithoutCollector(t *testing.T) {
	tel := newTelemetry(t, telemetry.DefaultConfig(), &bytes.Buffer{})
	_, span := tel.Tracer.Start(t.Context(), "root")
	if c := span.SpanContext(); !c.IsValid() || c.IsSampled() || span.IsRecording() {
		t.Errorf("the span's context is %v, recording %t", c, span.IsRecording())
	}
	caller := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true})
	_, child := tel.Tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), caller), "child")
	if c := child.SpanContext(); c.TraceID() != caller.TraceID() || c.SpanID() == caller.SpanID() {
		t.Errorf("the caller's trace goes on as %v", c)
	}
	if _, err := shutDown(t, tel, 5*time.Second); err != nil {
		t.Error(err)
	}
}

// OTL-06: a collector that is down costs a counted drop and one line of the log.
func TestCollectorIsDown(t *testing.T) {
	var logs bytes.Buffer
	tel := newTelemetry(t, sending(testkit.FreeAddress(t)), &logs)
	if slowest := makeSpans(t, tel, 1500); slowest > 500*time.Millisecond {
		t.Errorf("a span took %s", slowest)
	}
	took, err := shutDown(t, tel, 6*time.Second)
	if err != nil || took > 6*time.Second {
		t.Errorf("Shutdown took %s and gave %v", took, err)
	}
	if n := dropped(t, tel, "export"); n != 1500 {
		t.Errorf("%d spans are counted, want 1500", n)
	}
	if n := strings.Count(logs.String(), "traces can't be sent"); n != 1 {
		t.Errorf("%d lines of the log say so, want 1:\n%s", n, &logs)
	}
}

// A collector that never answers must not hold the end of the process, and what
// was on its way to it is counted.
func TestCollectorIsABlackHole(t *testing.T) {
	for name, address := range map[string]string{
		"says nothing":        blackHole(t),
		"accepts, no answers": startReceiver(t, make(chan struct{})).address,
	} {
		t.Run(name, func(t *testing.T) {
			tel := newTelemetry(t, sending(address), &bytes.Buffer{})
			if slowest := makeSpans(t, tel, 2000); slowest > 500*time.Millisecond {
				t.Errorf("a span took %s", slowest)
			}
			took, err := shutDown(t, tel, time.Second)
			if took > 3*time.Second || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown took %s and gave %v", took, err)
			}
			for range 100 { // the exports that were cut off end by themselves
				if dropped(t, tel, "export") == 2000 {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			t.Errorf("%d spans are counted, want 2000", dropped(t, tel, "export"))
		})
	}
}

// OTL-03: the queue is bounded, and what does not fit is counted, not waited for.
func TestQueueOverflow(t *testing.T) {
	hold := make(chan struct{})
	r := startReceiver(t, hold)
	tel := newTelemetry(t, sending(r.address), &bytes.Buffer{})
	const made = 10000
	if slowest := makeSpans(t, tel, made); slowest > 500*time.Millisecond {
		t.Errorf("a span took %s", slowest)
	}
	lost := dropped(t, tel, "queue")
	if want := made - 8192; lost != want {
		t.Errorf("%d spans are counted, want %d", lost, want)
	}
	close(hold)
	if _, err := shutDown(t, tel, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := len(r.names()); got != made-lost {
		t.Errorf("%d spans arrived, want all %d that were not counted", got, made-lost)
	}
}

func TestNoCollector(t *testing.T) {
	tel := newTelemetry(t, telemetry.DefaultConfig(), &bytes.Buffer{})
	makeSpans(t, tel, 10)
	if _, err := shutDown(t, tel, time.Second); err != nil {
		t.Error(err)
	}
	if err := telemetry.Discard().Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// Two services in one process: each has its own registry and its own collector.
func TestTwoInOneProcess(t *testing.T) {
	first, second := startReceiver(t, nil), startReceiver(t, nil)
	a := newTelemetry(t, sending(first.address), &bytes.Buffer{})
	b := newTelemetry(t, sending(second.address), &bytes.Buffer{})
	makeSpans(t, a, 2)
	makeSpans(t, b, 3)
	for _, tel := range []*telemetry.Telemetry{a, b} {
		if _, err := shutDown(t, tel, 5*time.Second); err != nil {
			t.Error(err)
		}
		if _, err := tel.Registry.Gather(); err != nil {
			t.Error(err)
		}
	}
	if len(first.names()) != 2 || len(second.names()) != 3 {
		t.Errorf("spans %v and %v arrived", first.names(), second.names())
	}
}
