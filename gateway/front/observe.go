package front

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"triptych/gateway/web"
	"triptych/shared/call"
	"triptych/shared/failure"
)

// unmatched is the route of a request that no route matched.
const unmatched = "unmatched"

// exchange is what is kept of one request for its log line.
type exchange struct {
	start         time.Time
	method, route string
	// body and length are those of the connection, before anything was put around
	// them.
	body   io.Reader
	length int64
	err    error
}

const exchangeKey = "triptych.exchange"

func exchangeOf(c *gin.Context) *exchange {
	if e, ok := c.MustGet(exchangeKey).(*exchange); ok {
		return e
	}
	return &exchange{}
}

// observe is around everything: the request's id, its span, its log line and
// its metrics.
func (f *Front) observe(c *gin.Context) {
	e := &exchange{start: time.Now(), method: knownMethod(c.Request.Method), route: c.FullPath(), body: c.Request.Body, length: c.Request.ContentLength}
	if e.route == "" {
		e.route = unmatched
	}
	c.Set(exchangeKey, e)
	id := c.Request.Header.Get(call.RequestIDHeader)
	if !call.ValidRequestID(id) {
		id = uuid.NewString()
	}
	ctx, span := f.startSpan(c.Request, e, id)
	ctx = call.With(ctx, call.Info{RequestID: id})
	c.Request = c.Request.WithContext(ctx)
	h := c.Writer.Header()
	h.Set(call.RequestIDHeader, id)
	f.carrier.Inject(ctx, propagation.HeaderCarrier(h))
	if f.draining.Load() {
		h.Set("Connection", "close")
	}
	c.Next()
	f.endSpan(span, e, c.Writer.Status())
	f.finish(ctx, c, e)
}

// knownMethod bounds what can become a label: a method is free text.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	default:
		return "_OTHER"
	}
}

func (f *Front) startSpan(r *http.Request, e *exchange, id string) (context.Context, trace.Span) {
	ctx := f.carrier.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	name := e.method
	if name == "_OTHER" {
		name = "HTTP"
	}
	attributes := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(e.method),
		semconv.URLScheme("http"),
		semconv.URLPath(cut(r.URL.Path)),
		semconv.NetworkProtocolVersion(strconv.Itoa(r.ProtoMajor) + "." + strconv.Itoa(r.ProtoMinor)),
		semconv.UserAgentOriginal(cut(r.UserAgent())),
		attribute.String("triptych.request_id", id),
	}
	if e.route != unmatched {
		name += " " + e.route
		attributes = append(attributes, semconv.HTTPRoute(e.route))
	}
	if r.ContentLength >= 0 {
		attributes = append(attributes, semconv.HTTPRequestBodySize(int(r.ContentLength)))
	}
	return f.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attributes...))
}

// cut bounds a caller's text.
func cut(text string) string { return text[:min(len(text), 256)] }

func (f *Front) endSpan(span trace.Span, e *exchange, status int) {
	span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	if e.err != nil {
		span.SetAttributes(semconv.ErrorTypeKey.String(failure.KindOf(e.err).String()))
	}
	if status >= http.StatusInternalServerError {
		if e.err != nil {
			span.RecordError(e.err)
		}
		span.SetStatus(codes.Error, http.StatusText(status))
	}
	span.End()
}

// finish writes the one line of the log, to which the logger adds the ids of ctx,
// and counts the request.
func (f *Front) finish(ctx context.Context, c *gin.Context, e *exchange) {
	took, status := time.Since(e.start), c.Writer.Status()
	f.metrics.done(e, status, took)
	level := slog.LevelInfo
	if status >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	attributes := make([]slog.Attr, 0, 8)
	attributes = append(attributes,
		slog.String("method", e.method), slog.String("route", e.route), slog.Int("status", status),
		slog.Float64("ms", web.Milliseconds(took)), slog.Int64("bytes_in", e.received(c.Request.Body)), slog.Int("bytes_out", max(c.Writer.Size(), 0)))
	if e.err != nil {
		attributes = append(attributes, slog.String("code", failure.KindOf(e.err).String()), slog.String("error", e.err.Error()))
	}
	f.logger.LogAttrs(ctx, level, "request", attributes...)
}

// received is how many bytes of the body came in.
func (e *exchange) received(r io.Reader) int64 {
	if b, ok := r.(*body); ok {
		return b.received
	}
	return 0
}
