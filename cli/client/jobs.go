package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"triptych/shared/failure"
)

// Counts are a job's items by what became of them.
type Counts struct {
	Pending   int `json:"pending"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Dead      int `json:"dead"`
	Cancelled int `json:"cancelled"`
	Expired   int `json:"expired"`
}

// Job is a job's status.
type Job struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Model     string          `json:"model"`
	State     string          `json:"state"`
	Priority  json.RawMessage `json:"priority"`
	Created   string          `json:"created"`
	Deadline  string          `json:"deadline"`
	Ended     string          `json:"ended"`
	Items     int             `json:"items"`
	Counts    Counts          `json:"counts"`
	Rate      float64         `json:"rate_per_second"`
	RequestID string          `json:"request_id"`
	TraceID   string          `json:"trace_id"`
	Callback  *Callback       `json:"callback"`

	// Raw is the whole document as it came.
	Raw json.RawMessage `json:"-"`
}

// Callback is how far the call of a job's callback URL has come.
type Callback struct {
	Attempts  int    `json:"attempts"`
	Delivered string `json:"delivered"`
	Error     string `json:"error"`
	GivenUp   bool   `json:"given_up"`
}

// Over tells whether all items have their verdict.
func (j *Job) Over() bool { return j.State == "done" || j.State == "cancelled" }

// Done is how many items have their verdict.
func (j *Job) Done() int { return j.Items - j.Counts.Pending }

// UnmarshalJSON implements json.Unmarshaler: it keeps the document.
func (j *Job) UnmarshalJSON(data []byte) error {
	type plain Job // has no methods
	if err := json.Unmarshal(data, (*plain)(j)); err != nil {
		return err
	}
	j.Raw = append(json.RawMessage(nil), data...)
	return nil
}

// readJob reads a status, which has an id at least.
func (c *Client) readJob(data []byte) (Job, error) {
	var job Job
	if err := c.read(data, &job); err != nil {
		return Job{}, err
	}
	if job.ID == "" {
		return Job{}, failure.New(failure.Internal, "the answer of %s is not what a gateway says", c.base)
	}
	return job, nil
}

func jobPath(id, rest string) string { return "/v1/jobs/" + url.PathEscape(id) + rest }

// Job asks for the status of a job.
func (c *Client) Job(ctx context.Context, id string) (Job, error) {
	data, _, err := c.call(ctx, http.MethodGet, jobPath(id, ""), http.Header{}, nil, maxAnswer)
	if err != nil {
		return Job{}, err
	}
	return c.readJob(data)
}

// Cancel cancels a job.
func (c *Client) Cancel(ctx context.Context, id string) (Job, error) {
	data, _, err := c.call(ctx, http.MethodDelete, jobPath(id, ""), http.Header{}, nil, maxAnswer)
	if err != nil {
		return Job{}, err
	}
	return c.readJob(data)
}

// Filter is what is wanted of a list. The zero value is all.
type Filter struct {
	State, Model, Name, Job string
	// Limit is the most entries of one answer; 0 is the gateway's own.
	Limit  int
	Cursor string
}

func (f Filter) query() string {
	q := url.Values{}
	for name, value := range map[string]string{"state": f.State, "model": f.Model, "name": f.Name, "job": f.Job, "cursor": f.Cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// JobPage is a part of the list of jobs.
type JobPage struct {
	Jobs []Job  `json:"jobs"`
	Next string `json:"next"`
}

// Jobs lists jobs, newest first.
func (c *Client) Jobs(ctx context.Context, f Filter) (JobPage, error) {
	var page JobPage
	err := c.get(ctx, "/v1/jobs"+f.query(), &page)
	return page, err
}
