// Package webhook tells a caller's URL what became of a job: a POST that is signed
// as Standard Webhooks says, and that never reaches a private address unless that
// is allowed. It tries once; when to try again is decided by whoever calls it.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// The headers of Standard Webhooks.
const (
	idHeader        = "webhook-id"
	timestampHeader = "webhook-timestamp"
	signatureHeader = "webhook-signature"
)

// What a receiver may make us read.
const (
	mostHeaders = 64 << 10
	mostAnswer  = 64 << 10
)

// Caller calls webhooks. Safe for concurrent use.
type Caller struct {
	cfg     Config
	keys    []key
	dialer  net.Dialer
	http    *http.Client
	tracer  trace.Tracer
	metrics *metrics
}

// New makes a caller. It reads the file of secrets, so that a broken one is seen at
// the start; Call reads it again, and a rotation needs no restart.
func New(cfg Config, tel *telemetry.Telemetry) (*Caller, error) {
	m, err := newMetrics(tel.Registry)
	if err != nil {
		return nil, err
	}
	c := &Caller{cfg: cfg, tracer: tel.Tracer, metrics: m}
	for _, secret := range cfg.Secrets {
		k, err := parseSecret("webhook-secret", secret)
		if err != nil {
			return nil, err
		}
		c.keys = append(c.keys, k)
	}
	if _, err := c.secrets(); err != nil {
		return nil, err
	}
	c.dialer.ControlContext = c.control
	c.http = &http.Client{
		// A redirect would lead to where nobody has looked.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			// A proxy would dial in our place, and see no address of ours to refuse.
			Proxy: nil,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return c.dialer.DialContext(ctx, network, address)
			},
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: mostHeaders,
		},
	}
	return c, nil
}

// Call posts body to a URL once. The id is the same each time that the same thing
// is told, so that a receiver knows what it has. What came of it is in the Kind of
// the error: nil is delivered, a Retryable Kind says that a later try may help and
// may have a time for it in RetryAfter, Cancelled is the end of ctx and no attempt,
// and any other Kind that no try ever will.
func (c *Caller) Call(ctx context.Context, id, address string, body []byte) error {
	if err := c.Validate(address); err != nil {
		return err
	}
	keys, err := c.secrets()
	if err != nil {
		return failure.Wrap(err, failure.Unavailable, "the secrets of webhooks can't be read")
	}
	ctx, span := c.tracer.Start(ctx, "webhook", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	status, err := c.post(limited, id, address, body, keys)
	if err != nil && ctx.Err() != nil {
		err = failure.OfContext(ctx)
	}
	c.metrics.observe(err, time.Since(begin))
	describe(span, address, status, err)
	return err
}

// post sends one request and judges the answer.
func (c *Caller) post(ctx context.Context, id, address string, body []byte, keys []key) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, failure.Wrap(err, failure.Invalid, "the callback's URL can't be called")
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header = http.Header{
		"Content-Type":  {"application/json"},
		"User-Agent":    {"triptych/" + telemetry.Version()},
		idHeader:        {id},
		timestampHeader: {timestamp},
		signatureHeader: {sign(keys, id, timestamp, body)},
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, unanswered(err)
	}
	defer resp.Body.Close()
	// The answer is of no interest. Some of it is read, for a receiver that is cut off
	// while it writes may take that for a failure.
	_, _ = io.CopyN(io.Discard, resp.Body, mostAnswer)
	return resp.StatusCode, judge(resp)
}

// unanswered is why there is no answer.
func unanswered(err error) error {
	var refused *failure.Error
	if errors.As(err, &refused) {
		return refused
	}
	var wrapped *url.Error // it quotes the URL, which may hold what is secret
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return failure.Wrap(err, failure.Unavailable, "the callback did not answer in time")
	}
	return failure.Wrap(err, failure.Unavailable, "the callback can't be reached")
}

// judge reads a status as Standard Webhooks does: 2xx is delivered, 410 wants no
// more, and all else may be different later.
func judge(resp *http.Response) error {
	switch status := resp.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusGone:
		return failure.New(failure.NotFound, "the callback answered %d: it wants no more", status)
	default:
		f := failure.New(failure.Unavailable, "the callback answered %d", status)
		f.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
		return f
	}
}

// longestHint bounds what a receiver may ask us to wait.
const longestHint = 24 * time.Hour

// retryAfter reads the header: seconds or a date; 0 is no hint.
func retryAfter(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second //nolint:gosec // 31 bits of seconds fit
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestHint)
}
