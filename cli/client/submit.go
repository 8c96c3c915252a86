package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

// Submission is a new job.
type Submission struct {
	// Settings are those of POST /v1/jobs.
	Settings url.Values
	// Key makes one job of all submissions with it.
	Key string

	ContentType string
	// Size is how many bytes the body has, -1 if that is not known.
	Size int64
	// Body is read once. When that fails, its failure is Submit's.
	Body io.Reader
}

// Submit sends a job, once, and gives its status when all of it is stored.
func (c *Client) Submit(ctx context.Context, s Submission) (Job, error) {
	inner, quiet, stop := guard(ctx, c.silence)
	defer stop()
	path := "/v1/jobs"
	if len(s.Settings) > 0 {
		path += "?" + s.Settings.Encode()
	}
	req, err := http.NewRequestWithContext(inner, http.MethodPost, c.base+path, io.NopCloser(heard{s.Body, quiet}))
	if err != nil {
		return Job{}, err
	}
	req.ContentLength = s.Size
	req.Header = http.Header{
		"Content-Type":    {s.ContentType},
		"Idempotency-Key": {s.Key},
		// A gateway that is full says so before it has all the images.
		"Expect": {"100-continue"},
	}
	resp, err := c.stream.Do(req)
	if err != nil {
		return Job{}, c.broken(ctx, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Job{}, c.broken(ctx, err)
	}
	if !good(resp) {
		return Job{}, refused(resp, data)
	}
	return c.readJob(data)
}
