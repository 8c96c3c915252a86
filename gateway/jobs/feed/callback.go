package feed

import (
	"context"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
)

const (
	// maxCalls bounds the callbacks that are called at once.
	maxCalls = 8
	// callAttempts and callFor bound how often and how long a callback is tried.
	callAttempts = 12
	callFor      = 24 * time.Hour
	// callPause bounds the pause between two attempts.
	callPause = 4 * time.Hour
)

// callback is the call of an ended job that is due.
type callback struct {
	due     time.Time
	running bool
}

// expect makes the callback of an ended job be called when it is due.
func (t *term) expect(record *pb.Job) {
	id, c := record.GetId(), record.GetCallback()
	if record.GetCallbackUrl() == "" || t.cfg.Callback == nil || c.GetDeliveredMs() > 0 || c.GetGivenUp() {
		delete(t.calls, id)
		return
	}
	if known := t.calls[id]; known != nil && known.running {
		return
	}
	// What is left of the pause is read from the clock that it was written by; no jump
	// of it makes the pause longer than any can be.
	left := time.Duration(0)
	if c.GetNextMs() > 0 {
		left = min(time.UnixMilli(c.GetNextMs()).Sub(t.cfg.Now()), callPause)
	}
	t.calls[id] = &callback{due: time.Now().Add(left)}
}

// callPause is the pause after so many attempts.
func (t *term) callPause(attempts uint32) time.Duration {
	pause := t.cfg.CallbackDelay
	for range min(attempts, callAttempts) - min(attempts, 1) {
		pause = min(2*pause, callPause)
	}
	return pause
}

// call calls what is due.
func (t *term) call(now time.Time) {
	running := 0
	for _, c := range t.calls {
		if c.running {
			running++
		}
	}
	for id, c := range t.calls {
		if c.running || now.Before(c.due) || running >= maxCalls {
			continue
		}
		running++
		c.running = true
		t.spawn(func(ctx context.Context) {
			record, err := t.callOnce(ctx, id)
			t.mu.Lock()
			defer t.mu.Unlock()
			c.running, c.due = false, time.Now().Add(beat)
			if failure.KindOf(err) == failure.NotFound {
				delete(t.calls, id)
			}
			if err == nil && t.calls[id] == c {
				t.expect(record)
			}
		})
	}
}

// callOnce calls a callback and stores what came of it.
func (t *term) callOnce(ctx context.Context, id string) (*pb.Job, error) {
	record, err := t.store.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	ended := record.GetEndedMs()
	failed := t.cfg.Callback.Call(ctx, record)
	if failed != nil && ctx.Err() != nil {
		return nil, ctx.Err() // it was us who ended it
	}
	// The call has been made: what came of it is stored even if the term ends now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rest)
	defer cancel()
	return t.store.Update(ctx, id, func(job *pb.Job) error {
		if job.GetEndedMs() != ended {
			return failure.New(failure.Conflict, "the job was opened again")
		}
		t.note(job, failed)
		return nil
	})
}

func (t *term) note(job *pb.Job, failed error) {
	c := job.GetCallback()
	if c == nil {
		c = &pb.Callback{}
		job.Callback = c
	}
	now := t.cfg.Now()
	c.Attempts++
	c.NextMs, c.Error = 0, ""
	if failed == nil {
		c.DeliveredMs = now.UnixMilli()
		t.metrics.callbacks.WithLabelValues("delivered").Inc()
		return
	}
	c.Error = failure.Message(failed)
	if !failure.KindOf(failed).Retryable() || c.GetAttempts() >= callAttempts || now.Sub(time.UnixMilli(job.GetEndedMs())) > callFor {
		c.GivenUp = true
		t.metrics.callbacks.WithLabelValues("given_up").Inc()
		t.tel.Logger.Warn("the callback of a job is given up", "job", job.GetId(), "attempts", c.GetAttempts(), "error", failed)
		return
	}
	wait := max(t.callPause(c.GetAttempts()), min(failure.RetryAfter(failed), callPause))
	c.NextMs = now.Add(wait).UnixMilli()
	t.metrics.callbacks.WithLabelValues("failed").Inc()
}
