package board

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/jobs"
	"triptych/shared/stream"
)

// seen is an event of the verdict stream, or none; caught says that those are all
// that were there at the start.
type seen struct {
	event  Event
	none   bool
	caught bool
}

const (
	// pull is how long one request for verdicts lasts, and beat how often the server
	// must say that it is there.
	pull = 10 * time.Second
	beat = 2 * time.Second
)

// reader reads the verdict stream.
type reader struct {
	board      *Board
	from, last uint64
	events     chan seen
}

// run sends the verdicts, without their bodies, as events. It closes events when
// it ends. The consumer is made once: whoever follows begins anew when it breaks.
func (r *reader) run(ctx context.Context) error {
	defer close(r.events)
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{stream.VerdictSubject("*", "*")}, HeadersOnly: true, MaxResetAttempts: 1,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.from,
	}
	consumer, drop, err := r.board.store.Connection().Reader(ctx, stream.Verdicts, cfg)
	if err != nil {
		return err
	}
	defer drop()
	messages, err := consumer.Messages(jetstream.PullExpiry(pull), jetstream.PullHeartbeat(beat))
	if err != nil {
		return stream.Failure(err)
	}
	defer messages.Stop()
	if info := consumer.CachedInfo(); info != nil && info.NumPending == 0 {
		if err := r.send(ctx, seen{event: Event{Sequence: r.last}, none: true, caught: true}); err != nil {
			return err
		}
	}
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return stream.Failure(err)
		}
		event, pending, err := EventOf(msg)
		if err != nil {
			return err
		}
		if err := r.send(ctx, seen{event, event.Job == "", pending == 0 || event.Sequence >= r.last}); err != nil {
			return err
		}
	}
}

// EventOf is what the head of a verdict tells, or of a letter, and how many more of
// them there are. It has no job when the subject names none.
func EventOf(msg jetstream.Msg) (event Event, pending uint64, err error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Event{}, 0, stream.Failure(err)
	}
	event = Event{Outcome: jobs.OutcomeNamed(stream.HeaderValue(msg.Headers(), stream.OutcomeHeader)), Sequence: meta.Sequence.Stream}
	if job, item, ok := stream.ItemOf(msg.Subject()); ok {
		event.Job, event.Item = job, item
	}
	return event, meta.NumPending, nil
}

func (r *reader) send(ctx context.Context, s seen) error {
	select {
	case r.events <- s:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Board) see(s seen) {
	if b.count(s) {
		b.tell(s.event)
	}
}

func (b *Board) count(s seen) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.caught = b.caught || s.caught
	b.applied = max(b.applied, s.event.Sequence)
	if s.none {
		return false
	}
	now := time.Now()
	e := b.entry(s.event.Job)
	if !e.apply(s.event, now) {
		return false
	}
	b.rate.add(now, 1)
	b.bytes.add(now, itemBytes(e.record))
	return true
}
