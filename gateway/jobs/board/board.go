// Package board is what a gateway knows of all jobs: it follows the records and the
// verdicts, and keeps counts. Every gateway has one; all of them come to the same.
// It writes nothing.
package board

import (
	"log/slog"
	"sync"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
)

// Event is one verdict, one item that was put back, or a job whose record was
// written or has gone.
type Event struct {
	Job  string
	Item uint32
	// Outcome is OUTCOME_UNSPECIFIED for a record; it has no item and no sequence.
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
	plans   plans
	begun   bool // verdicts are read from some sequence on, without a gap
	caught  bool // everything that was there at the start has been seen
	late    bool // verdicts were passed over that count, now that the record is there
	// applied is the sequence of the last verdict seen, and revised that of the last
	// record.
	applied, revised uint64
	rate, bytes      pace
	hearers          map[int]func(Event)
	heard            int // hearers ever
}

// New makes a board that knows nothing before Run.
func New(store *jobs.Store, logger *slog.Logger) *Board {
	return &Board{store: store, logger: logger, entries: map[string]*entry{}, plans: plans{}, hearers: map[int]func(Event){}}
}

// Hear makes every event that comes from now on be told, in order, after the board
// has counted it. One that was told may be told again. Tell must return soon: the
// board waits. It may ask the board. Stop ends it; one event may still be told.
func (b *Board) Hear(tell func(Event)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard++
	n := b.heard
	b.hearers[n] = tell
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.hearers, n)
	}
}

func (b *Board) tell(events ...Event) {
	if len(events) == 0 {
		return
	}
	b.mu.Lock()
	hearers := make([]func(Event), 0, len(b.hearers))
	for _, tell := range b.hearers {
		hearers = append(hearers, tell)
	}
	b.mu.Unlock()
	for _, event := range events {
		for _, tell := range hearers {
			tell(event)
		}
	}
}

// Ready says why nothing can be told of jobs yet: Unavailable until the board has
// caught up with what was stored before.
func (b *Board) Ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready()
}

func (b *Board) ready() error {
	if !b.caught {
		return failure.New(failure.Unavailable, "the jobs are still being read")
	}
	return nil
}

// Job is a job as it is now. NotFound when there is none of the id.
func (b *Board) Job(id string) (*Snapshot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.ready(); err != nil {
		return nil, err
	}
	e := b.entries[id]
	if e == nil || e.record == nil {
		return nil, failure.New(failure.NotFound, "unknown job %s", failure.Quote(id))
	}
	return e.snapshot(), nil
}

// Has tells whether an item has its verdict. Of a job that has ended every item has.
func (b *Board) Has(job string, item uint32) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[job]
	return e != nil && e.has(item)
}

// Undecided lists, in order, at most so many items from one on that have no
// verdict, as far as the board knows.
func (b *Board) Undecided(job string, from uint32, most int) []uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[job]
	if e == nil || e.record == nil || !open(e.record) {
		return nil
	}
	var items []uint32
	for i := from; i < e.record.GetItems() && len(items) < most; i++ {
		if !e.decided.has(i) {
			items = append(items, i)
		}
	}
	return items
}

// Requeued tells whether an item that has no verdict was dead before, and put back.
func (b *Board) Requeued(job string, item uint32) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[job]
	return e != nil && e.marked.has(item)
}

// Dead tells whether an item of an open job is dead. It may say so of one that is
// not, of a job that has been opened again.
func (b *Board) Dead(job string, item uint32) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[job]
	return e != nil && (e.dead.has(item) || e.unsure.has(item))
}

// Died lists the items of an open job that are dead; not those that were dead before
// it was opened again.
func (b *Board) Died(job string) []uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[job]
	if e == nil || e.dead == nil {
		return nil
	}
	var items []uint32
	for i := range e.record.GetItems() {
		if e.dead.has(i) {
			items = append(items, i)
		}
	}
	return items
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
		e = &entry{since: time.Now()}
		b.entries[job] = e
	}
	return e
}

// forget drops an entry of which nothing is known and that nobody watches.
func (b *Board) forget(job string, e *entry) {
	if b.entries[job] == e && e.record == nil && len(e.watchers) == 0 && len(e.early) == 0 && !e.missed {
		delete(b.entries, job)
	}
}
