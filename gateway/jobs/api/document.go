package api

import (
	"encoding/json"
	"strings"
	"time"

	"triptych/gateway/jobs/board"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// document is a job as users see it.
type document struct {
	ID           string            `json:"id"`
	Name         string            `json:"name,omitempty"`
	Model        string            `json:"model"`
	Version      string            `json:"version,omitempty"`
	State        string            `json:"state"`
	Priority     int               `json:"priority"`
	Created      string            `json:"created"`
	Deadline     string            `json:"deadline"`
	Ended        string            `json:"ended,omitempty"`
	Items        uint32            `json:"items"`
	Counts       counts            `json:"counts"`
	Rate         float64           `json:"rate_per_second"`
	EstimatedEnd string            `json:"estimated_end,omitempty"`
	RequestID    string            `json:"request_id"`
	TraceID      string            `json:"trace_id"`
	Callback     *callbackDocument `json:"callback,omitempty"`
}

type counts struct {
	Pending   uint32 `json:"pending"`
	Succeeded uint32 `json:"succeeded"`
	Failed    uint32 `json:"failed"`
	Dead      uint32 `json:"dead"`
	Cancelled uint32 `json:"cancelled"`
	Expired   uint32 `json:"expired"`
}

type callbackDocument struct {
	Attempts  uint32 `json:"attempts"`
	Delivered string `json:"delivered,omitempty"`
	Error     string `json:"error,omitempty"`
	GivenUp   bool   `json:"given_up,omitempty"`
}

// The states of a job as users see them.
const (
	running    = "running"
	cancelling = "cancelling"
	done       = "done"
	cancelled  = "cancelled"
)

var states = map[pb.State]string{
	pb.State_STATE_ACCEPTED: running, pb.State_STATE_CANCELLING: cancelling, pb.State_STATE_DONE: done, pb.State_STATE_CANCELLED: cancelled,
}

func ended(job *pb.Job) bool {
	return job.GetState() == pb.State_STATE_DONE || job.GetState() == pb.State_STATE_CANCELLED
}

// instant is a time as answers have it; empty for none.
func instant(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func documentOf(s *board.Snapshot, now time.Time) *document {
	job, c := s.Record, s.Counts
	doc := &document{
		ID: job.GetId(), Name: job.GetName(), Model: job.GetModel(), Version: job.GetModelVersion(), State: states[job.GetState()],
		Priority: stream.Level(uint64(job.GetPriority())), Created: instant(job.GetCreatedMs()), Deadline: instant(job.GetDeadlineMs()), Ended: instant(job.GetEndedMs()),
		Items:     job.GetItems(),
		Counts:    counts{s.Undecided(), c.GetSucceeded(), c.GetFailed(), c.GetDead(), c.GetCancelled(), c.GetExpired()},
		RequestID: job.GetRequestId(), TraceID: traceID(job.GetTraceparent()),
	}
	if !ended(job) {
		doc.Rate = float64(int64(s.Rate*100)) / 100
		if end := s.End(now); !end.IsZero() {
			doc.EstimatedEnd = instant(end.UnixMilli())
		}
	}
	if job.GetCallbackUrl() != "" {
		cb := job.GetCallback()
		doc.Callback = &callbackDocument{cb.GetAttempts(), instant(cb.GetDeliveredMs()), cb.GetError(), cb.GetGivenUp()}
	}
	return doc
}

// Document is the status of a job that has ended, as GET /v1/jobs/{id} has it.
func Document(job *pb.Job) ([]byte, error) {
	data, err := json.Marshal(documentOf(&board.Snapshot{Record: job, Counts: job.GetCounts()}, time.Now()))
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the status of a job can't be written")
	}
	return data, nil
}

// traceID is the trace of the request that brought the job.
func traceID(traceparent string) string {
	if parts := strings.Split(traceparent, "-"); len(parts) == 4 {
		return parts[1]
	}
	return ""
}
