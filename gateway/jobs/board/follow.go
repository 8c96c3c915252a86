package board

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
)

const (
	// again is the pause before the jobs are followed anew.
	again = 250 * time.Millisecond
	// quiet is how long what was there at the start may not come.
	quiet = 5 * time.Second
	// look is the time between two looks at whether the connection was lost, and
	// audit between two at whether something did not come.
	look  = 100 * time.Millisecond
	audit = 10 * time.Second
)

// Run follows the records and the verdicts until ctx ends, and begins anew whenever
// NATS was away.
func (b *Board) Run(ctx context.Context) {
	var trouble telemetry.Trouble
	for ctx.Err() == nil {
		err := b.follow(ctx, trouble.Worked)
		if ctx.Err() != nil {
			return
		}
		trouble.Failed(ctx, b.logger, "the jobs can't be followed now", err)
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// follow reads all records, then all verdicts that those of open jobs do not have,
// and goes on with what comes. It always returns an error.
func (b *Board) follow(ctx context.Context, begun func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connection := b.store.Connection().Reconnects()
	last, err := b.lastVerdict(ctx)
	if err != nil {
		return err
	}
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
	begun()
	r := &reader{board: b, from: b.from(last), last: last, events: make(chan seen, 256)}
	failed := make(chan error, 1)
	go func() { failed <- r.run(ctx) }()
	defer func() {
		cancel()
		for range r.events { // until the reader has ended
		}
	}()
	return b.apply(ctx, connection, records.Updates(), r.events, failed)
}

// lastVerdict is the sequence of the last message that the verdict stream got.
func (b *Board) lastVerdict(ctx context.Context) (uint64, error) {
	verdicts, err := b.store.Connection().JetStream().Stream(ctx, stream.Verdicts)
	if err != nil {
		return 0, stream.Failure(err)
	}
	return verdicts.CachedInfo().State.LastSeq, nil
}

// from is the first sequence to be read. Records were read after last was asked
// for, so verdicts of a job that is not known come after it.
func (b *Board) from(last uint64) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	anew := !b.begun || last < b.applied // the second: the stream is not the one that it was
	if anew {
		b.applied = last
	}
	from := b.applied
	for _, e := range b.entries {
		if e.record == nil || !e.missed && !(anew && open(e.record)) {
			continue
		}
		if open(e.record) {
			e.begin()
		}
		e.missed, e.early = false, nil
		from = min(from, e.record.GetVerdictsAfter())
	}
	b.begun, b.late, b.caught = true, false, b.caught && !anew
	return from + 1
}

// apply takes records and verdicts as they come.
func (b *Board) apply(ctx context.Context, connection uint64, records <-chan jetstream.KeyValueEntry, events <-chan seen, failed <-chan error) error {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	a := auditor{board: b, at: time.Now()}
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
		case <-ticks.C:
			if b.store.Connection().Reconnects() != connection {
				return failure.New(failure.Unavailable, "the connection to NATS was lost")
			}
			if err := a.look(ctx); err != nil {
				return err
			}
		}
		if b.behind() {
			return failure.New(failure.Unavailable, "the record of a job came late")
		}
	}
}

// behind tells whether verdicts of a job were passed over before its record came, or
// counted that its record does not have.
func (b *Board) behind() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.late
}
