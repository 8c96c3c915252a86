package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"triptych/shared/failure"
)

// Result is a line of a job's results: what became of an item, or the end of the
// job.
type Result struct {
	Cursor      string       `json:"cursor"`
	Item        int          `json:"item"`
	Name        string       `json:"name"`
	State       string       `json:"state"`
	Predictions []Prediction `json:"predictions"`
	Outputs     []struct {
		Name     string  `json:"name"`
		Datatype string  `json:"datatype"`
		Shape    []int64 `json:"shape"`
	} `json:"outputs"`
	Timings  map[string]float64 `json:"timings_ms"`
	TraceID  string             `json:"trace_id"`
	Attempts int                `json:"attempts"`
	Error    *Reason            `json:"error"`
	Step     string             `json:"step"`
	// End is the job's state in the last line, and empty in all others.
	End string `json:"end"`

	// Raw is the line as it came.
	Raw json.RawMessage `json:"-"`
	// Waiting tells that more lines have come already.
	Waiting bool `json:"-"`
}

// Reason is why something failed.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Wanted is what is wanted of a job's results.
type Wanted struct {
	// Cursor is that of the last line that is known; empty is none.
	Cursor string
	// Follow waits for those that are still to come.
	Follow bool
	// Outcome is the only one that is wanted; empty is all.
	Outcome string
}

// streamSilence is how long an answer that is followed may say nothing before it is
// asked for again. Nothing is lost by that, and a connection that has died unseen is
// found.
const streamSilence = time.Minute

// Results gives the lines of a job's results to each, in order, the last one too. A
// stream that breaks is taken up where it broke. It ends with the job, or without
// Follow with what there is.
func (c *Client) Results(ctx context.Context, id string, w Wanted, p Patience, each func(Result) error) error {
	f := &following{client: c, id: id, wanted: w, tries: p.begin(), each: each}
	for {
		ended, err := f.listen(ctx)
		if ended || f.failed != nil {
			return f.failed
		}
		if err := f.tries.pause(ctx, err); err != nil {
			return err
		}
	}
}

// following is one reader of results, over many connections.
type following struct {
	client *Client
	id     string
	wanted Wanted
	tries  *tries
	each   func(Result) error
	failed error // what each said
}

// listen reads one answer, and tells whether it was the whole.
func (f *following) listen(ctx context.Context) (ended bool, err error) {
	query := url.Values{"follow": {strconv.FormatBool(f.wanted.Follow)}}
	if f.wanted.Cursor != "" {
		query.Set("cursor", f.wanted.Cursor)
	}
	if f.wanted.Outcome != "" {
		query.Set("outcome", f.wanted.Outcome)
	}
	l, err := f.client.open(ctx, jobPath(f.id, "/results?")+query.Encode(), http.Header{"Accept": {"application/x-ndjson"}}, streamSilence)
	if err != nil {
		return false, err
	}
	defer l.close()
	f.tries.since = time.Time{} // the gateway is there, though there may be nothing new
	for {
		line, err := l.next()
		switch {
		case errors.Is(err, io.EOF) && !f.wanted.Follow:
			return true, nil
		case errors.Is(err, io.EOF):
			return false, failure.New(failure.Unavailable, "the results of %s broke off", f.client.base)
		case err != nil:
			return false, err
		case len(line) == 0:
			continue // keeps the connection open
		}
		if ended, err := f.take(line, l.waiting()); ended || err != nil {
			return ended, err
		}
	}
}

// take hands one line on.
func (f *following) take(line []byte, waiting bool) (ended bool, err error) {
	r := Result{Raw: line, Waiting: waiting}
	if err := f.client.read(line, &r); err != nil {
		return false, err
	}
	if f.failed = f.each(r); f.failed != nil {
		return false, f.failed
	}
	if r.Cursor != "" {
		f.wanted.Cursor = r.Cursor
	}
	f.tries.advanced()
	return r.End != "", nil
}
