package board

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/stream"
)

// quiet is how long the record watch may say nothing before the connection is
// looked at.
const quiet = 5 * time.Second

// follow reads all records, then all verdicts that those of open jobs do not have,
// and goes on with what comes.
func (b *Board) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kv, err := b.store.Records(ctx)
	if err != nil {
		return err
	}
	records, err := kv.Watch(ctx, stream.JobRecords)
	if err != nil {
		return stream.Failure(err)
	}
	defer func() { _ = records.Stop() }()
	if err := b.readRecords(ctx, records); err != nil {
		return err
	}
	events := make(chan seen, 256)
	failed := make(chan error, 1)
	go func() { failed <- b.readVerdicts(ctx, events) }()
	defer func() {
		cancel()
		for range events { // until the reader has ended
		}
	}()
	return b.apply(ctx, records.Updates(), events, failed)
}

// seen is an event of the verdict stream, or none; the last of those that were there
// says that the board has caught up.
type seen struct {
	event  Event
	none   bool
	caught bool
}

// readRecords takes the records that are there, until the watch says that these
// were all. What is no longer there is forgotten.
func (b *Board) readRecords(ctx context.Context, records jetstream.KeyWatcher) error {
	seen := map[string]bool{}
	for {
		select {
		case entry := <-records.Updates():
			if entry == nil {
				b.keepOnly(seen)
				return nil
			}
			seen[id(entry)] = true
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

func (b *Board) keepOnly(seen map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for job, e := range b.entries {
		if !seen[job] {
			b.remove(job, e)
		}
	}
}

func (b *Board) remove(job string, e *entry) {
	e.record, e.early, e.decided = nil, nil, nil
	e.tell()
	b.forget(job, e)
}

func (b *Board) record(entry jetstream.KeyValueEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(id(entry))
	if entry.Operation() != jetstream.KeyValuePut {
		b.remove(id(entry), e)
		return
	}
	job := &pb.Job{}
	if err := proto.Unmarshal(entry.Value(), job); err != nil {
		b.logger.Error("the record of a job can't be read", "job", id(entry), "error", err)
		b.forget(id(entry), e)
		return
	}
	e.take(job)
}

// from is the first sequence of a verdict that an open job's counts may not have.
func (b *Board) from() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := uint64(0)
	for _, e := range b.entries {
		if e.record != nil && open(e.record) && (from == 0 || e.sequence+1 < from) {
			from = e.sequence + 1
		}
	}
	if from == 0 {
		return b.applied + 1
	}
	return from
}

// readVerdicts sends the verdicts, without their bodies, as events. It closes
// events when it ends.
func (b *Board) readVerdicts(ctx context.Context, events chan<- seen) error {
	defer close(events)
	cfg := jetstream.OrderedConsumerConfig{FilterSubjects: []string{stream.VerdictSubject("*", "*")}, HeadersOnly: true, DeliverPolicy: jetstream.DeliverAllPolicy}
	if from := b.from(); from > 1 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, from
	}
	consumer, err := b.store.Connection().JetStream().OrderedConsumer(ctx, stream.Verdicts, cfg)
	if err != nil {
		return stream.Failure(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return stream.Failure(err)
	}
	defer messages.Stop()
	if consumer.CachedInfo().NumPending == 0 {
		events <- seen{none: true, caught: true}
	}
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return stream.Failure(err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return stream.Failure(err)
		}
		job, item, ok := stream.ItemOf(msg.Subject())
		event := Event{Job: job, Item: item, Outcome: jobs.OutcomeNamed(stream.HeaderValue(msg.Headers(), stream.OutcomeHeader)), Sequence: meta.Sequence.Stream}
		select {
		case events <- seen{event, !ok, meta.NumPending == 0}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// apply takes records and verdicts as they come.
func (b *Board) apply(ctx context.Context, records <-chan jetstream.KeyValueEntry, events <-chan seen, failed <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, ok := <-records:
			if !ok {
				return failure.New(failure.Unavailable, "the records of jobs end")
			}
			if entry != nil {
				b.record(entry)
			}
		case s, ok := <-events:
			if !ok {
				return <-failed
			}
			b.see(s)
		}
	}
}

func (b *Board) see(s seen) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.caught = b.caught || s.caught
	if s.none {
		return
	}
	b.applied = max(b.applied, s.event.Sequence)
	e := b.entry(s.event.Job)
	e.apply(s.event, time.Now())
	b.forget(s.event.Job, e)
	if b.all != nil {
		b.all(s.event)
	}
}
