// Package api speaks the gateway's HTTP API for jobs, as much of it as a load test
// needs. It keeps no bodies, so that its memory does not grow with a job.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client talks to one gateway. Safe for concurrent use.
type Client struct {
	// Header goes with each request. It must not change while requests are made.
	Header    http.Header
	base      string
	transport *http.Transport
}

// New makes a client of the gateway at HOST:PORT, or at http://HOST:PORT.
func New(address string) *Client {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return &Client{base: strings.TrimSuffix(address, "/"), transport: &http.Transport{WriteBufferSize: 64 << 10, ReadBufferSize: 64 << 10}}
}

// Close ends the idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Counts are a job's items by what became of them.
type Counts struct {
	Pending, Succeeded, Failed, Dead, Cancelled, Expired int
}

// Status is what the gateway says of a job.
type Status struct {
	ID     string
	State  string
	Items  int
	Counts Counts
}

// Submit sends a job, and returns when it is accepted.
func (c *Client) Submit(ctx context.Context, model string, form *Form) (Status, error) {
	return c.SubmitWith(ctx, url.Values{"model": {model}}, form)
}

// SubmitWith sends a job with all its settings, and returns when it is accepted.
func (c *Client) SubmitWith(ctx context.Context, settings url.Values, form *Form) (Status, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/jobs?"+settings.Encode(), form)
	if err != nil {
		return Status{}, fmt.Errorf("send a job: %w", err)
	}
	req.Header.Set("Content-Type", form.ContentType())
	req.ContentLength = form.Size()
	var s Status
	return s, c.document(req, http.StatusAccepted, &s)
}

// Job asks for the status of a job.
func (c *Client) Job(ctx context.Context, id string) (Status, error) {
	var s Status
	return s, c.get(ctx, "/v1/jobs/"+id, &s)
}

// List asks for the latest jobs, and says how many came.
func (c *Client) List(ctx context.Context) (int, error) {
	var list struct{ Jobs []Status }
	err := c.get(ctx, "/v1/jobs?limit=100", &list)
	return len(list.Jobs), err
}

// Cancel cancels a job.
func (c *Client) Cancel(ctx context.Context, id string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.base+"/v1/jobs/"+id, nil)
	if err != nil {
		return fmt.Errorf("cancel a job: %w", err)
	}
	return c.document(req, http.StatusAccepted, &Status{})
}

// End waits until a job has ended.
func (c *Client) End(ctx context.Context, id string, every time.Duration) (Status, error) {
	return c.Until(ctx, id, every, func(s Status) bool { return s.State == "done" || s.State == "cancelled" })
}

// Until polls a job until its status is as wanted.
func (c *Client) Until(ctx context.Context, id string, every time.Duration, wanted func(Status) bool) (Status, error) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		s, err := c.Job(ctx, id)
		if err != nil || wanted(s) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-ticker.C:
		}
	}
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", path, err)
	}
	return c.document(req, http.StatusOK, into)
}

// document sends a request and reads the JSON that it is answered with.
func (c *Client) document(req *http.Request, status int, into any) (err error) {
	resp, err := c.do(req, status)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", req.Method, req.URL.Path, err)
	}
	_, err = io.Copy(io.Discard, resp.Body) // or the connection is lost
	return err
}

// maxFault bounds what is kept of a refusal.
const maxFault = 1000

// Refusal is an answer with another status than a good one has.
type Refusal struct {
	// Act is the request's method and path.
	Act string
	// Status is that of HTTP.
	Status int
	// Body is the first part of the answer.
	Body []byte
}

// Error is all of it.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s is answered %d %s: %s", r.Act, r.Status, http.StatusText(r.Status), r.Body)
}

// do sends a request. The caller closes the body.
func (c *Client) do(req *http.Request, status int) (*http.Response, error) {
	for name, values := range c.Header {
		req.Header[name] = values
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, err)
	}
	if resp.StatusCode == status {
		return resp, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxFault))
	return nil, errors.Join(&Refusal{req.Method + " " + req.URL.Path, resp.StatusCode, text}, err, resp.Body.Close())
}
