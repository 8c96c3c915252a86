package feed

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"triptych/gateway/jobs/board"
)

// Lead feeds without a lease, as a leader does that has lost it and does not know.
func (f *Feeder) Lead(ctx context.Context, epoch uint32) { f.lead(ctx, epoch) }

// Hold leads without starting anything: it takes all pages of a job in hand, and then
// only hears, until stop. Events are those that it has taken.
func (f *Feeder) Hold(ctx context.Context, id string) (events <-chan board.Event, stop func(), err error) {
	t := newTerm(ctx, f, 1)
	heard := make(chan board.Event, 16)
	deaf := f.board.Hear(func(event board.Event) {
		t.hear(event)
		heard <- event
	})
	stop = func() {
		deaf()
		t.abandon()
	}
	s, err := f.board.Job(id)
	if err != nil {
		return heard, stop, err
	}
	t.mu.Lock()
	t.take(s, false)
	j := t.jobs[id]
	t.mu.Unlock()
	use, err := t.open(ctx, j, s.Record)
	for err == nil {
		t.mu.Lock()
		use()
		left := j.todo
		t.mu.Unlock()
		if len(left) == 0 {
			break
		}
		use, err = t.page(ctx, j, s.Record, left[0])
	}
	return heard, stop, err
}

// Leading tells whether this gateway feeds now, as its metric says.
func (f *Feeder) Leading() bool {
	registry := prometheus.NewRegistry()
	registry.MustRegister(f.metrics.leader)
	families, err := registry.Gather()
	return err == nil && families[0].GetMetric()[0].GetGauge().GetValue() == 1
}

// Lease runs a lease over a bucket.
func Lease(ctx context.Context, kv jetstream.KeyValue, holder string, takeover time.Duration, lead func(context.Context, uint32)) {
	l := &lease{holder: holder, takeover: takeover, logger: slog.New(slog.DiscardHandler), bucket: func(context.Context) (jetstream.KeyValue, error) { return kv, nil }}
	l.run(ctx, lead)
}
