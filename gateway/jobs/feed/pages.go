package feed

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

const (
	// maxHands bounds the pages in hand of all pipelines; beyond it each level of a
	// pipeline has one.
	maxHands = 32
	// retryRead is the pause after a page could not be read.
	retryRead = 500 * time.Millisecond
)

// prepare makes jobs take turns and has their pages read.
func (t *term) prepare(p *road) {
	now := time.Now()
	for _, l := range p.levels {
		for _, j := range l.active {
			t.prune(j)
		}
		l.rotate()
		for _, j := range l.active {
			if j.wants(now) && (t.hands < maxHands || l.hands == 0) {
				t.read(j)
			}
		}
	}
}

// prune gives back pages of which nothing is left to start.
func (t *term) prune(j *job) {
	for len(j.hands) > 0 && j.peek() == nil {
		j.hands = j.hands[1:]
		t.hands--
		j.level.hands--
	}
}

// wants tells whether the next page of a job is to be read: one ahead of the one
// that is fed, unless other jobs wait for their turn.
func (j *job) wants(now time.Time) bool {
	if j.loading || j.ending || j.listed && len(j.todo) == 0 || now.Before(j.retry) {
		return false
	}
	return len(j.hands) == 0 || len(j.hands) == 1 && len(j.level.waiting) == 0
}

// read reads a job's next page, or, before the first, which pages there are.
func (t *term) read(j *job) {
	record := j.record
	if !j.listed {
		t.load(j, func(ctx context.Context) (func(), error) { return t.open(ctx, j, record) })
		return
	}
	number := j.todo[0]
	t.load(j, func(ctx context.Context) (func(), error) { return t.page(ctx, j, record, number) })
}

// load runs get, which reads without the lock, and then what it gives, with it.
func (t *term) load(j *job, get func(context.Context) (func(), error)) {
	j.loading = true
	t.hands++
	j.level.hands++
	t.spawn(func(ctx context.Context) {
		use, err := get(ctx)
		t.mu.Lock()
		defer t.mu.Unlock()
		defer t.nudge()
		j.loading = false
		t.hands--
		j.level.hands--
		j.quiet = time.Now()
		if err != nil {
			j.retry = time.Now().Add(retryRead)
			if ctx.Err() == nil {
				t.tel.Logger.Warn("a job's items can't be read now", "job", j.record.GetId(), "error", err)
			}
			return
		}
		if !j.ending && t.jobs[j.record.GetId()] == j {
			j.fed++
			use()
		}
	})
}

// open finds out which pages of a job there are and, of one that another fed
// before, which items are on their way. A plan that can't be run is no error that
// passes: all items fail by it.
func (t *term) open(ctx context.Context, j *job, record *pb.Job) (func(), error) {
	plan, broken := t.store.Plan(record.GetPlan())
	if broken != nil {
		return func() { //nolint:nilerr // see above
			t.finish(j, &pb.Verdict{Outcome: pb.Outcome_OUTCOME_FAILED, Error: problem(broken)})
		}, nil
	}
	pages, err := t.pages(ctx, record.GetId())
	if err != nil {
		return nil, err
	}
	var alive map[uint32]bool
	if j.inherited {
		if alive, err = t.alive(ctx, plan, record.GetId()); err != nil {
			return nil, err
		}
	}
	return func() { j.plan, j.listed, j.todo, j.alive, j.fed = plan, true, pages, alive, 0 }, nil
}

// pages lists the pages of a job that there are, in order.
func (t *term) pages(ctx context.Context, id string) ([]uint32, error) {
	subjects, err := t.store.Subjects(ctx, stream.Inputs, stream.InputSubject(id, "*"))
	if err != nil {
		return nil, err
	}
	pages := make([]uint32, 0, len(subjects))
	for subject := range subjects {
		n, err := strconv.ParseUint(subject[strings.LastIndexByte(subject, '.')+1:], 10, 32)
		if err == nil {
			pages = append(pages, uint32(n))
		}
	}
	slices.Sort(pages)
	return pages, nil
}

// page reads a page and takes its items in hand.
func (t *term) page(ctx context.Context, j *job, record *pb.Job, number uint32) (func(), error) {
	p, err := t.store.Page(ctx, record.GetId(), number)
	if failure.KindOf(err) == failure.NotFound {
		return func() { j.without(number) }, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := t.ask(ctx, j, record.GetId(), p)
	if err != nil {
		return nil, err
	}
	return func() {
		j.done(number)
		t.hold(j, number, p, found)
	}, nil
}

// done takes a page that was read from those to be read. Others may have been put
// before it.
func (j *job) done(number uint32) {
	j.todo = slices.DeleteFunc(j.todo, func(n uint32) bool { return n == number })
}

// without takes away a page that is gone. When an item needs it, that is found out
// by search.
func (j *job) without(number uint32) {
	j.done(number)
	delete(j.ranges, number)
	for item, f := range j.lost {
		if f.page.number == number {
			delete(j.lost, item)
			f.end(pb.Outcome_OUTCOME_UNSPECIFIED)
		}
	}
}
