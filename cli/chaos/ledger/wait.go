package ledger

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	pb "triptych/proto/jobs"
	"triptych/shared/stream"
)

// Await waits until a gateway says of every accepted job that it has ended.
func (l *Ledger) Await(ctx context.Context, within time.Duration) {
	l.tb.Helper()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, id := range l.Jobs() {
		if status, err := l.await(ctx, id); err != nil || !status.ended() {
			l.tb.Errorf("job %s has not ended within %s: %+v %v", id, within, status, err)
			return
		}
	}
}

// AwaitOne waits until one job has ended, or ctx has. No id is no job.
func (l *Ledger) AwaitOne(ctx context.Context, id string) {
	if id != "" {
		_, _ = l.await(ctx, id) // nobody wants to know how it ended
	}
}

// await asks again and again; it gives the last answer.
func (l *Ledger) await(ctx context.Context, id string) (status Status, err error) {
	for ctx.Err() == nil {
		var now Status
		if now, err = l.Status(ctx, id); err == nil {
			status = now
		}
		if status.ended() {
			return status, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return status, err
}

func (s *Status) ended() bool { return s.State == "done" || s.State == "cancelled" }

// Clean waits until nothing is left of jobs but their verdicts: no task in a queue,
// and no page in the backlog but those of dead items, which can be put back.
func (l *Ledger) Clean(ctx context.Context, url string, within time.Duration) {
	l.tb.Helper()
	for begin := time.Now(); ; time.Sleep(pause) {
		stored, err := Read(ctx, url)
		if err == nil && stored.Tasks == 0 && stored.Pages == stored.wantPages() {
			return
		}
		if time.Since(begin) < within {
			continue
		}
		if err != nil {
			l.tb.Errorf("what is stored can't be read: %v", err)
		} else {
			l.tb.Errorf("%d tasks and %d pages are left, want 0 and %d", stored.Tasks, stored.Pages, stored.wantPages())
		}
		return
	}
}

// wantPages is one for each job with dead items: the jobs of tests fit into a page.
func (s *Stored) wantPages() int {
	jobs := map[string]bool{}
	for at := range s.dead {
		jobs[at.job] = true
	}
	return len(jobs)
}

// Count is how many items have each outcome.
func (s *Stored) Count(outcome pb.Outcome) int {
	n := 0
	for _, v := range s.verdicts {
		if v.GetOutcome() == outcome {
			n++
		}
	}
	return n
}

// Items is how many items the records have.
func (s *Stored) Items() int {
	n := 0
	for _, record := range s.Records {
		n += int(record.GetItems())
	}
	return n
}

// Attempts is how many runs of items failed or never ended.
func (s *Stored) Attempts() int {
	n := 0
	for _, v := range s.verdicts {
		n += int(v.GetAttempts())
	}
	return n
}

// Verdicts is how many messages the verdict stream has taken.
func Verdicts(ctx context.Context, url string) (uint64, error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, err
	}
	from, err := js.Stream(ctx, stream.Verdicts)
	if err != nil {
		return 0, err
	}
	return from.CachedInfo().State.LastSeq, nil
}
