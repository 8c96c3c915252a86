package feed

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
)

// Lead feeds without a lease, as a leader does that has lost it and does not know.
func (f *Feeder) Lead(ctx context.Context, epoch uint32) { f.lead(ctx, epoch) }

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
