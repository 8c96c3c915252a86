package feed

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
	"triptych/shared/stream"
)

// leaseKey is the key of the lease among the records.
const leaseKey = "lease"

// claim is what the lease says.
type claim struct {
	Holder string `json:"holder"`
	// Epoch is how often somebody began to feed.
	Epoch uint32 `json:"epoch"`
	// Free is set by a holder that ended: nobody has to wait for it.
	Free bool `json:"free,omitempty"`
}

// lease makes one of many lead. Its holder writes it anew all the time; one that
// was not written for a while is taken over. Each measures that while by its own
// monotonic clock, from when it saw the lease change: no two clocks are compared.
type lease struct {
	bucket   func(context.Context) (jetstream.KeyValue, error)
	holder   string
	takeover time.Duration
	logger   *slog.Logger

	revision uint64 // as it was seen last, and since when
	since    time.Time
	mine     claim
}

// renew is how often the holder writes.
func (l *lease) renew() time.Duration { return l.takeover / 5 }

// run calls lead whenever the lease is held, until ctx ends. The context of lead
// ends when the lease is lost. The lease is given up at the end.
func (l *lease) run(ctx context.Context, lead func(ctx context.Context, epoch uint32)) {
	for ctx.Err() == nil {
		if l.acquire(ctx) {
			l.logger.Info("this gateway feeds the jobs", "epoch", l.mine.Epoch)
			l.hold(ctx, lead)
			l.logger.Info("this gateway no longer feeds the jobs")
		}
		pause(ctx, l.renew()/2)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// acquire takes the lease when nobody holds it, or whoever does has said nothing
// for too long.
func (l *lease) acquire(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, l.renew())
	defer cancel()
	kv, err := l.bucket(ctx)
	if err != nil {
		l.revision = 0
		return false
	}
	seen, revision, err := l.read(ctx, kv)
	if err != nil {
		l.revision = 0 // what is not seen is not measured
		return false
	}
	if now := time.Now(); revision != l.revision || l.since.IsZero() {
		l.revision, l.since = revision, now
	}
	if revision > 0 && !seen.Free && time.Since(l.since) < l.takeover {
		return false
	}
	l.mine = claim{Holder: l.holder, Epoch: seen.Epoch + 1}
	return l.write(ctx, kv, revision) == nil
}

func (l *lease) read(ctx context.Context, kv jetstream.KeyValue) (claim, uint64, error) {
	var seen claim
	entry, err := kv.Get(ctx, leaseKey)
	if failure.KindOf(stream.Failure(err)) == failure.NotFound {
		return seen, 0, nil
	}
	if err != nil {
		return seen, 0, stream.Failure(err)
	}
	if json.Unmarshal(entry.Value(), &seen) != nil {
		seen = claim{Free: true} // nobody of ours wrote it
	}
	return seen, entry.Revision(), nil
}

// write writes mine, if the lease is still of the revision; 0 for none.
func (l *lease) write(ctx context.Context, kv jetstream.KeyValue, revision uint64) error {
	data, err := json.Marshal(l.mine)
	if err != nil {
		return failure.Wrap(err, failure.Internal, "the lease can't be written")
	}
	if revision == 0 {
		revision, err = kv.Create(ctx, leaseKey, data)
	} else {
		revision, err = kv.Update(ctx, leaseKey, data, revision)
	}
	if err != nil {
		return stream.Failure(err)
	}
	l.revision, l.since = revision, time.Now()
	return nil
}

// hold leads and renews until ctx ends, the lease is lost, or nobody knows.
func (l *lease) hold(ctx context.Context, lead func(context.Context, uint32)) {
	leading, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		lead(leading, l.mine.Epoch)
	}()
	l.renewing(leading, done)
	cancel()
	<-done
	l.release(ctx)
}

// renewing returns when the lease is no longer held for sure: well before anybody
// else may take it over.
func (l *lease) renewing(ctx context.Context, done <-chan struct{}) {
	ticks := time.NewTicker(l.renew())
	defer ticks.Stop()
	for last := time.Now(); time.Since(last) < l.takeover*3/5; {
		select {
		case <-ctx.Done():
			return
		case <-done:
			return
		case <-ticks.C:
		}
		begin := time.Now()
		held, err := l.again(ctx)
		if err == nil && !held {
			return
		}
		if held {
			last = begin
		}
	}
}

// again renews the lease once; false without an error means that another has it.
func (l *lease) again(ctx context.Context) (held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.renew())
	defer cancel()
	kv, err := l.bucket(ctx)
	if err != nil {
		return false, err
	}
	err = l.write(ctx, kv, l.revision)
	if failure.KindOf(err) != failure.Conflict {
		return err == nil, err
	}
	// Another wrote, or we did and did not hear of it.
	seen, revision, err := l.read(ctx, kv)
	if err != nil || seen != l.mine {
		return false, err
	}
	l.revision = revision
	return true, nil
}

// release lets the next take over at once.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.renew())
	defer cancel()
	kv, err := l.bucket(ctx)
	if err != nil {
		return
	}
	l.mine.Free = true
	if err := l.write(ctx, kv, l.revision); err != nil {
		l.logger.Info("the lease can't be given up: it ends by itself", "error", err)
	}
}
