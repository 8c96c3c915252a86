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

// Held is a leader that starts nothing: it has read all pages of a job, and then only
// hears.
type Held struct {
	// Events are those that it has taken.
	Events <-chan board.Event

	term *term
	job  *job
	deaf func()
}

// Hold leads without starting anything, until Stop.
func (f *Feeder) Hold(ctx context.Context, id string) (*Held, error) {
	t := newTerm(ctx, f, 1)
	s, err := f.board.Job(id)
	if err != nil {
		return nil, err
	}
	events := make(chan board.Event, 16)
	h := &Held{Events: events, term: t, deaf: f.board.Hear(func(event board.Event) {
		t.hear(event)
		events <- event
	})}
	t.mu.Lock()
	t.take(s, false)
	h.job = t.jobs[id]
	t.mu.Unlock()
	use, err := t.open(ctx, h.job, s.Record)
	if err != nil {
		return h, err
	}
	t.mu.Lock()
	use()
	pages := h.job.todo
	t.mu.Unlock()
	for _, number := range pages {
		if err := h.Read(ctx, number); err != nil {
			return h, err
		}
	}
	return h, nil
}

// Read reads a page.
func (h *Held) Read(ctx context.Context, number uint32) error {
	use, err := h.term.page(ctx, h.job, h.job.record, number)
	if err != nil {
		return err
	}
	h.term.mu.Lock()
	defer h.term.mu.Unlock()
	use()
	return nil
}

// Stop ends what it has begun. It may be called more than once.
func (h *Held) Stop() {
	h.deaf()
	h.term.abandon()
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
