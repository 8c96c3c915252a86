package feed

import (
	"context"
	"sync"
	"time"

	"triptych/gateway/jobs/board"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
)

// maxStarts is how many items are put into their first queues at once.
const maxStarts = 64

// term is one time of leading. What its lock guards is looked at by one loop, which
// starts work, and by the work as it ends. The board may be asked under the lock.
type term struct {
	*Feeder
	ctx   context.Context //nolint:containedctx // its own lifetime
	epoch uint32
	wake  chan struct{}
	work  sync.WaitGroup
	// room bounds the jobs that are ended at once.
	room chan struct{}

	mu        sync.Mutex
	over      bool // no more work is started
	jobs      map[string]*job
	roads     map[string]*road
	changed   map[string]bool // jobs whose records were written
	hands     int             // pages in hand
	starting  int
	calls     map[string]*callback
	connected uint64

	collecting  bool
	collected   time.Time // when it was begun last
	collections int
	// orphans is what was found without a job, and when it was first seen. Only
	// whoever collects uses it.
	orphans map[string]map[string]time.Time
	// scanned is the last sequence of a stream that was looked at for what belongs to
	// no job. Only whoever collects uses it.
	scanned map[string]uint64
}

func newTerm(ctx context.Context, f *Feeder, epoch uint32) *term {
	return &term{
		Feeder: f, ctx: ctx, epoch: epoch, wake: make(chan struct{}, 1), room: make(chan struct{}, maxEndings),
		jobs: map[string]*job{}, roads: map[string]*road{}, changed: map[string]bool{}, calls: map[string]*callback{},
		orphans: map[string]map[string]time.Time{}, scanned: map[string]uint64{}, connected: f.store.Connection().Reconnects(),
	}
}

// run feeds until the term ends, and what it has started with it.
func (t *term) run() {
	defer t.abandon()
	stop := t.board.Hear(t.hear)
	defer stop()
	t.inherit()
	beats := time.NewTicker(beat)
	defer beats.Stop()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		t.turn()
		select {
		case <-t.ctx.Done():
			return
		case <-t.wake:
		case <-ticks.C:
		case <-beats.C:
			t.beat()
		}
	}
}

// inherit takes over the jobs of those who led before.
func (t *term) inherit() {
	t.board.Each(func(s *board.Snapshot) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.take(s, true)
		return t.ctx.Err() == nil
	})
}

func (t *term) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// turn does what can be done now.
func (t *term) turn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.changed {
		delete(t.changed, id)
		s, err := t.board.Job(id)
		switch {
		case err == nil:
			t.take(s, false)
		case failure.KindOf(err) == failure.NotFound:
			t.drop(t.jobs[id])
			delete(t.calls, id)
		default: // the board begins anew
			t.changed[id] = true
			return
		}
	}
	for more := true; more; {
		for _, p := range t.roads {
			t.prepare(p)
		}
		more = t.round()
		for more && t.round() {
		}
	}
}

// round starts at most one item of each pipeline, and tells whether there was any.
func (t *term) round() (some bool) {
	now := time.Now()
	for _, p := range t.roads {
		if t.starting >= maxStarts {
			return false
		}
		if w := p.pick(now); w != nil {
			t.launch(w)
			some = true
		}
	}
	return some
}

// take looks at a job as it is now.
func (t *term) take(s *board.Snapshot, inherited bool) {
	id := s.Record.GetId()
	j := t.jobs[id]
	if !board.Open(s.Record) {
		t.drop(j)
		if s.Sequence > s.Record.GetVerdictsAfter() {
			t.reopening(id)
		} else {
			t.expect(s.Record)
		}
		return
	}
	delete(t.calls, id)
	if j == nil {
		j = t.admit(s.Record, inherited)
		// Those that died before the job was opened again had their letters: it had ended.
		t.repairing(j, t.board.Died(id)...)
	}
	j.record = s.Record
	if !t.close(j) && s.Record.GetState() == pb.State_STATE_CANCELLING {
		t.finish(j, &pb.Verdict{Outcome: pb.Outcome_OUTCOME_CANCELLED})
	}
}

// hear takes an event of the board.
func (t *term) hear(event board.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.nudge()
	j := t.jobs[event.Job]
	switch {
	case event.Outcome == pb.Outcome_OUTCOME_UNSPECIFIED:
		t.changed[event.Job] = true
	case event.Outcome == pb.Outcome_OUTCOME_REQUEUED:
		t.changed[event.Job] = true // it may have ended meanwhile
		if j != nil {
			j.requeue(event.Item)
			j.road.enlist(j)
		}
	case j == nil:
	default:
		t.decided(j, event)
	}
}

// beat looks at what nobody tells of.
func (t *term) beat() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, wall := time.Now(), t.cfg.Now()
	if n := t.store.Connection().Reconnects(); n != t.connected {
		t.connected = n
		t.suspect(now)
	}
	for _, j := range t.jobs {
		if t.close(j) {
			continue
		}
		if j.record.GetState() == pb.State_STATE_CANCELLING {
			t.finish(j, &pb.Verdict{Outcome: pb.Outcome_OUTCOME_CANCELLED})
		}
		if deadline := j.record.GetDeadlineMs(); deadline > 0 && wall.UnixMilli() >= deadline {
			t.finish(j, &pb.Verdict{Outcome: pb.Outcome_OUTCOME_EXPIRED})
		}
		t.look(j, now)
		t.search(j, now)
	}
	t.call(now)
	t.collect(now)
}

// spawn does work that ends when the term does. It needs the lock.
func (t *term) spawn(work func(context.Context)) {
	if !t.over {
		t.work.Go(func() { work(t.ctx) })
	}
}

// abandon waits for the work of a term that ends and lets go of its jobs.
func (t *term) abandon() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.work.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range t.jobs {
		t.drop(j)
	}
}
