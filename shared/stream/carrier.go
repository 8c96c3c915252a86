package stream

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"

	"triptych/shared/call"
)

// Headers of a task beside those of call.
const (
	// DeadlineHeader is when the item must be done, in Unix milliseconds.
	DeadlineHeader = "triptych-deadline"
	// OutcomeHeader names a verdict's outcome, so that nobody has to read the body.
	OutcomeHeader = "triptych-outcome"
)

// carrier lets the trace context travel in NATS headers: written in lower case, as
// W3C has it, and read in any, for servers and clients have changed the case.
type carrier nats.Header

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(key string) string { return HeaderValue(nats.Header(c), key) }

// Set implements propagation.TextMapCarrier.
func (c carrier) Set(key, value string) { nats.Header(c)[strings.ToLower(key)] = []string{value} }

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}

// HeaderValue is the first value of a header, whatever the case of its name; exactly
// spelled ones come first.
func HeaderValue(h nats.Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	for k, v := range h {
		if strings.EqualFold(k, key) && len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// Inject writes what travels with a request into a message's headers: its trace
// context, id and priority, and the absolute time by which it must be done.
func Inject(ctx context.Context, h nats.Header, deadline time.Time) {
	propagation.TraceContext{}.Inject(ctx, carrier(h))
	info := call.Of(ctx)
	if info.RequestID != "" {
		h[call.RequestIDHeader] = []string{info.RequestID}
	}
	if info.Priority > 0 {
		h[call.PriorityHeader] = []string{strconv.FormatUint(info.Priority, 10)}
	}
	if !deadline.IsZero() {
		h[DeadlineHeader] = []string{strconv.FormatInt(deadline.UnixMilli(), 10)}
	}
}

// Extract reads what Inject wrote. A header that can't be read counts as absent.
// The deadline is zero when there is none.
func Extract(ctx context.Context, h nats.Header) (_ context.Context, deadline time.Time) {
	ctx = propagation.TraceContext{}.Extract(ctx, carrier(h))
	info := call.Info{RequestID: HeaderValue(h, call.RequestIDHeader)}
	if !call.ValidRequestID(info.RequestID) {
		info.RequestID = ""
	}
	info.Priority, _ = strconv.ParseUint(HeaderValue(h, call.PriorityHeader), 10, 64)
	if ms, err := strconv.ParseInt(HeaderValue(h, DeadlineHeader), 10, 64); err == nil {
		deadline = time.UnixMilli(ms)
	}
	return call.With(ctx, info), deadline
}
