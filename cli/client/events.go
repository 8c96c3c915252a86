package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"triptych/shared/failure"
)

const (
	// eventSilence is how long events may say nothing before the status is asked for:
	// something between may hold them back.
	eventSilence = 10 * time.Second
	// pollEvery is how often the status is asked for where there are no events.
	pollEvery = time.Second
)

// Watch gives the status of a job to each as it changes, until the job has ended,
// and then the last one. It listens to events, and asks again and again where there
// are none.
func (c *Client) Watch(ctx context.Context, id string, p Patience, each func(Job)) (Job, error) {
	w := &watching{client: c, id: id, tries: p.begin(), each: each}
	for {
		if !w.deaf {
			job, err := w.listen(ctx)
			if err == nil {
				return job, nil
			}
			if ctx.Err() != nil {
				return Job{}, failure.OfContext(ctx)
			}
		}
		job, err := c.Job(ctx, id)
		if err == nil {
			w.tries.advanced()
			each(job)
			if job.Over() {
				return job, nil
			}
			err = sleep(ctx, pollEvery)
		} else {
			err = w.tries.pause(ctx, err)
		}
		if err != nil {
			return Job{}, err
		}
	}
}

// watching is one listener, over many connections.
type watching struct {
	client *Client
	id     string
	tries  *tries
	each   func(Job)
	last   string // the id of the last event
	deaf   bool   // there are no events to be had
}

// listen reads one stream of events. Without an error the job has ended.
func (w *watching) listen(ctx context.Context) (Job, error) {
	headers := http.Header{"Accept": {"text/event-stream"}}
	if w.last != "" {
		headers.Set("Last-Event-ID", w.last)
	}
	l, err := w.client.open(ctx, jobPath(w.id, "/events"), headers, eventSilence)
	if err != nil {
		// A gateway that is away may have events when it is back.
		w.deaf = !failure.KindOf(err).Retryable()
		return Job{}, err
	}
	defer l.close()
	if kind, _, err := mime.ParseMediaType(l.resp.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		w.deaf = true
		return Job{}, failure.New(failure.Unavailable, "%s sends no events", w.client.base)
	}
	for {
		e, err := readEvent(l)
		if err != nil {
			return Job{}, err
		}
		job, err := w.client.readJob(e.data)
		if err != nil {
			w.deaf = true
			return Job{}, err
		}
		w.last = e.id
		w.tries.advanced()
		w.each(job)
		if e.name == "end" {
			return job, nil
		}
	}
}

// event is one of server-sent events.
type event struct {
	name, id string
	data     []byte
}

// readEvent reads until a blank line ends an event that has data. Comments keep
// connections open, and are no events.
func readEvent(l *lines) (event, error) {
	var e event
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return e, failure.New(failure.Unavailable, "the events of %s broke off", l.client.base)
		}
		if err != nil {
			return e, err
		}
		if len(line) == 0 {
			if e.data != nil {
				return e, nil
			}
			e = event{id: e.id}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = string(value)
		case "id":
			e.id = string(value)
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		}
	}
}
