package board

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// readRecords takes the records that are there, until the watch says that these
// were all. What is no longer there is forgotten.
func (b *Board) readRecords(ctx context.Context, records jetstream.KeyWatcher) error {
	present := map[string]bool{}
	for {
		select {
		case entry, ok := <-records.Updates():
			if !ok {
				return failure.New(failure.Unavailable, "the records of jobs end")
			}
			if entry == nil {
				b.tell(b.keepOnly(present)...)
				return nil
			}
			present[id(entry)] = entry.Operation() == jetstream.KeyValuePut
			b.record(entry)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quiet):
			return failure.New(failure.Unavailable, "the records of jobs do not come")
		}
	}
}

func id(entry jetstream.KeyValueEntry) string {
	return strings.TrimPrefix(entry.Key(), stream.JobRecord(""))
}

func (b *Board) keepOnly(present map[string]bool) []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	var gone []Event
	for job, e := range b.entries {
		if e.record != nil && !present[job] {
			b.remove(job, e)
			gone = append(gone, Event{Job: job})
		}
	}
	return gone
}

func (b *Board) remove(job string, e *entry) {
	*e = entry{since: time.Now(), watchers: e.watchers}
	e.tell()
	b.forget(job, e)
}

func (b *Board) record(entry jetstream.KeyValueEntry) {
	job := &pb.Job{}
	if entry.Operation() != jetstream.KeyValuePut {
		job = nil
	} else if err := proto.Unmarshal(entry.Value(), job); err != nil {
		b.logger.Error("the record of a job can't be read", "job", id(entry), "error", err)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.revised = max(b.revised, entry.Revision())
		return
	}
	b.tell(b.write(id(entry), job, entry.Revision())...)
}

// write takes over a record, nil for one that was deleted, and gives what there is
// to tell.
func (b *Board) write(id string, job *pb.Job, revision uint64) []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revised = max(b.revised, revision)
	e := b.entry(id)
	if revision <= e.revision {
		b.forget(id, e)
		return nil
	}
	if job == nil {
		b.remove(id, e)
		return []Event{{Job: id}}
	}
	b.plans.share(job)
	early := e.take(job, revision)
	b.late = b.late || e.missed
	return append([]Event{{Job: id}}, early...)
}
