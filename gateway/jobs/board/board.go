// Package board is what a gateway knows of all jobs: it follows the records and the
// verdicts, and keeps counts. Every gateway has one; all of them come to the same.
// It writes nothing.
package board

import (
	"context"
	"log/slog"
	"sync"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
)

// Event is one verdict, or one item that was put back.
type Event struct {
	Job     string
	Item    uint32
	Outcome pb.Outcome
	// Sequence is that of its message in the verdict stream.
	Sequence uint64
}

// Board is a gateway's view of all jobs. Safe for concurrent use.
type Board struct {
	store  *jobs.Store
	logger *slog.Logger

	mu      sync.Mutex
	entries map[string]*entry
	caught  bool // everything that was there at the start has been seen
	// applied is the sequence of the last verdict seen.
	applied uint64
	all     func(Event) // hears of every event
}

// New makes a board that knows nothing before Run.
func New(store *jobs.Store, logger *slog.Logger) *Board {
	return &Board{store: store, logger: logger, entries: map[string]*entry{}}
}

// Hear makes every event that comes from now on be told, in order. Tell must return
// soon: the board waits.
func (b *Board) Hear(tell func(Event)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = tell
}

// Ready says why nothing can be told of jobs yet: Unavailable until the board has
// caught up with what was stored before.
func (b *Board) Ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.caught {
		return failure.New(failure.Unavailable, "the jobs are still being read")
	}
	return nil
}

// Snapshot is a job at one moment. Record must not be changed.
type Snapshot struct {
	Record *pb.Job
	Counts *pb.Counts
	// Rate is verdicts a second, lately.
	Rate float64
	// Sequence is that of the last verdict that Counts has.
	Sequence uint64
}

// Decided is how many items have their verdict.
func (s *Snapshot) Decided() uint32 { return Decided(s.Counts) }

// Undecided is how many have none.
func (s *Snapshot) Undecided() uint32 { return s.Record.GetItems() - s.Decided() }

// End estimates when the job will have ended, from the rate; zero when nobody can
// say.
func (s *Snapshot) End(now time.Time) time.Time {
	if s.Rate <= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(float64(s.Undecided()) / s.Rate * float64(time.Second)))
}

// Decided is the sum of counts.
func Decided(c *pb.Counts) uint32 {
	return c.GetSucceeded() + c.GetFailed() + c.GetDead() + c.GetCancelled() + c.GetExpired()
}

// Job is a job as it is now. NotFound when there is none of the id.
func (b *Board) Job(id string) (*Snapshot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.caught {
		return nil, failure.New(failure.Unavailable, "the jobs are still being read")
	}
	e := b.entries[id]
	if e == nil || e.record == nil {
		return nil, failure.New(failure.NotFound, "unknown job %s", failure.Quote(id))
	}
	return e.snapshot(), nil
}

// Each calls visit with every job, in no order, until it returns false.
func (b *Board) Each(visit func(*Snapshot) bool) {
	for _, s := range b.snapshots() {
		if !visit(s) {
			return
		}
	}
}

func (b *Board) snapshots() []*Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]*Snapshot, 0, len(b.entries))
	for _, e := range b.entries {
		if e.record != nil {
			list = append(list, e.snapshot())
		}
	}
	return list
}

// Has tells whether an item has its verdict. Of a job that has ended every item has.
func (b *Board) Has(job string, item uint32) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[job]
	return e != nil && e.has(item)
}

// Watch gives a channel that is told whenever a job changes; several changes may be
// told as one. Stop must be called.
func (b *Board) Watch(job string) (changed <-chan struct{}, stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(job)
	told := make(chan struct{}, 1)
	if e.watchers == nil {
		e.watchers = map[chan struct{}]bool{}
	}
	e.watchers[told] = true
	return told, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(e.watchers, told)
		b.forget(job, e)
	}
}

func (b *Board) entry(job string) *entry {
	e := b.entries[job]
	if e == nil {
		e = &entry{}
		b.entries[job] = e
	}
	return e
}

// forget drops an entry of which nothing is known and that nobody watches.
func (b *Board) forget(job string, e *entry) {
	if e.record == nil && len(e.watchers) == 0 && len(e.early) == 0 {
		delete(b.entries, job)
	}
}

// Run follows the records and the verdicts until ctx ends, and begins anew whenever
// NATS was away.
func (b *Board) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := b.follow(ctx); err != nil && ctx.Err() == nil {
			b.logger.Warn("the jobs can't be followed now", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// again is the pause before the jobs are followed anew.
const again = time.Second
