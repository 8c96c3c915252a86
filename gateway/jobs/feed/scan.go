package feed

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/gateway/jobs/board"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// ahead is how many messages are asked for at once by whoever reads all of a stream.
const ahead = 500

// strayVerdicts deletes the verdicts and letters of jobs that are not there: a worker
// had a task in hand when its job was deleted. On its way it puts the items back whose
// mark has come after the end of their job. What was read once is not read again.
func (t *term) strayVerdicts(ctx context.Context) error {
	for in, subject := range map[string]func(job, item string) string{stream.Verdicts: stream.VerdictSubject, stream.Dead: stream.DeadSubject} {
		if err := t.strayIn(ctx, in, subject); err != nil {
			delete(t.scanned, in) // what was found may be forgotten
			return err
		}
	}
	return nil
}

func (t *term) strayIn(ctx context.Context, in string, subject func(job, item string) string) error {
	ids := map[string]bool{}
	for id := range t.orphans[in] {
		ids[id] = true
	}
	last, err := t.scan(ctx, in, subject("*", "*"), t.scanned[in]+1, func(event board.Event) error {
		s, err := t.board.Job(event.Job)
		switch {
		case err != nil:
			ids[event.Job] = true // strays asks again
		case event.Outcome == pb.Outcome_OUTCOME_REQUEUED && !board.Open(s.Record) && event.Sequence > s.Record.GetVerdictsAfter():
			return t.putBack(ctx, event)
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.scanned[in] = max(t.scanned[in], last)
	for _, id := range t.strays(ctx, in, ids) {
		if err := t.store.Purge(ctx, in, subject(id, "*")); err != nil {
			return err
		}
		t.metrics.collected.WithLabelValues("verdicts").Inc()
	}
	return nil
}

// scan reads the heads of the messages of a stream, from a sequence to its end, and
// gives the last that it came to. Nothing of them is kept.
func (t *term) scan(ctx context.Context, in, filter string, from uint64, visit func(board.Event) error) (last uint64, err error) {
	consumer, drop, err := t.store.Connection().Reader(ctx, in, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{filter}, HeadersOnly: true, MaxResetAttempts: 1, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
	})
	if err != nil {
		return 0, err
	}
	defer drop()
	if consumer.CachedInfo().NumPending == 0 {
		return 0, nil
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(ahead))
	if err != nil {
		return 0, stream.Failure(err)
	}
	defer messages.Stop()
	for pending := uint64(1); pending > 0; {
		var event board.Event
		if event, pending, err = next(ctx, messages); err == nil && event.Job != "" {
			err = visit(event)
		}
		if err != nil {
			return last, err
		}
		last = event.Sequence
	}
	return last, nil
}

// next reads one message; pending is how many follow it. What should come and does not
// was deleted meanwhile, or is read the next time.
func next(ctx context.Context, messages jetstream.MessagesContext) (event board.Event, pending uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, rest)
	defer cancel()
	msg, err := messages.Next(jetstream.NextContext(ctx))
	if err != nil {
		return event, 0, stream.Failure(err)
	}
	return board.EventOf(msg)
}

// putBack opens a job again of which an item was put back while it ended, when nobody
// was there to see both: boards that begin later do not read the verdicts of jobs that
// have ended. The mark is written anew, so that all of them see it.
func (t *term) putBack(ctx context.Context, event board.Event) error {
	mark, sequence, err := t.store.Verdict(ctx, event.Job, event.Item)
	if failure.KindOf(err) == failure.NotFound || err == nil && mark.GetOutcome() != pb.Outcome_OUTCOME_REQUEUED {
		return nil // it has gone on
	}
	if err != nil {
		return err
	}
	if err := t.reopen(ctx, event.Job); err != nil {
		return err
	}
	_, err = t.store.Decide(ctx, mark, sequence)
	return err
}
