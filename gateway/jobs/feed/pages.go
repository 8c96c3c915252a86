package feed

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

const (
	// maxHands bounds the pages in hand of all pipelines; beyond it each level of a
	// pipeline has one.
	maxHands = 32
	// maxAsks bounds the questions that are asked at once.
	maxAsks = 16
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
	subjects, err := t.subjects(ctx, stream.Inputs, stream.InputSubject(id, "*"))
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

// subjects are the subjects of a stream that have messages and match; none when
// there is no such stream.
func (t *term) subjects(ctx context.Context, of, filter string) (map[string]uint64, error) {
	s, err := t.store.Connection().JetStream().Stream(ctx, of)
	if err == nil {
		var info *jetstream.StreamInfo
		if info, err = s.Info(ctx, jetstream.WithSubjectFilter(filter)); err == nil {
			return info.State.Subjects, nil
		}
	}
	if err = stream.Failure(err); failure.KindOf(err) == failure.NotFound {
		return nil, nil
	}
	return nil, err
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

// ask finds out about items whose verdict is more than none: those that were put
// back, and those that another may have started. It gives how they are to be
// started; nil for one that has its verdict.
func (t *term) ask(ctx context.Context, j *job, id string, p *pb.Page) (map[uint32]*flight, error) {
	found := map[uint32]*flight{}
	var mu sync.Mutex
	var failed error
	asks := make(chan struct{}, maxAsks)
	var asking sync.WaitGroup
	for _, item := range t.doubtful(j, id, p) {
		asks <- struct{}{}
		asking.Go(func() {
			defer func() { <-asks }()
			f, err := t.askOne(ctx, id, item)
			mu.Lock()
			defer mu.Unlock()
			found[item] = f
			if err != nil {
				failed = err
			}
		})
	}
	asking.Wait()
	return found, failed
}

func (t *term) askOne(ctx context.Context, id string, item uint32) (*flight, error) {
	v, sequence, err := t.store.Verdict(ctx, id, item)
	switch {
	case failure.KindOf(err) == failure.NotFound:
		return &flight{item: item, attempt: t.epoch<<attemptsOf + 1}, nil
	case err != nil:
		return nil, err
	case v.GetOutcome() == pb.Outcome_OUTCOME_REQUEUED:
		return &flight{item: item, attempt: max(v.GetStarted()+1, t.epoch<<attemptsOf+1), fence: sequence}, nil
	default:
		return nil, nil
	}
}

// doubtful lists the items of a page to ask for.
func (t *term) doubtful(j *job, id string, p *pb.Page) []uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var items []uint32
	for _, item := range p.GetItems() {
		i := item.GetIndex()
		if t.board.Has(id, i) || j.flights[i] != nil || j.lost[i] != nil || j.alive[i] {
			continue
		}
		if t.board.Requeued(id, i) {
			items = append(items, i)
		} else if j.suspects > 0 {
			j.suspects--
			items = append(items, i)
		}
	}
	return items
}

// hold takes the undecided items of a page in hand.
func (t *term) hold(j *job, number uint32, p *pb.Page, found map[uint32]*flight) {
	items := p.GetItems()
	if len(items) == 0 {
		return
	}
	pg := j.ranges[number]
	if pg == nil {
		pg = &page{number: number, first: items[0].GetIndex(), last: items[len(items)-1].GetIndex()}
		j.ranges[number] = pg
	}
	pg.open(items)
	h := &hand{}
	for _, item := range items {
		if w := t.piece(j, pg, item, found); w != nil {
			pg.queued[item.GetIndex()] = true
			h.pieces = append(h.pieces, w)
		}
	}
	if len(h.pieces) > 0 {
		j.hands = append(j.hands, h)
		t.hands++
		j.level.hands++
	}
	t.settle(j, pg)
}

// piece is an item that is to be started; nil for one that is not.
func (t *term) piece(j *job, pg *page, item *pb.Item, found map[uint32]*flight) *piece {
	i := item.GetIndex()
	if t.board.Has(j.record.GetId(), i) {
		return nil
	}
	pg.undecided[i] = true
	if pg.queued[i] || j.flights[i] != nil {
		return nil
	}
	f := t.flight(j, pg, i, found)
	if f == nil {
		return nil
	}
	f.page = pg
	return &piece{job: j, page: pg, item: item, flight: f}
}

// flight is how an item is to be started; nil for one that is on its way, or whose
// verdict is on its way to the board.
func (t *term) flight(j *job, pg *page, i uint32, found map[uint32]*flight) *flight {
	if f := j.lost[i]; f != nil {
		delete(j.lost, i)
		return f
	}
	if f, asked := found[i]; asked {
		return f
	}
	if j.alive[i] {
		delete(j.alive, i)
		t.fly(j, &flight{item: i, page: pg, attempt: t.epoch << attemptsOf, begun: true, since: time.Now()})
		return nil
	}
	return &flight{item: i, attempt: 1}
}

// open makes a page ready for its items to be undecided.
func (p *page) open(items []*pb.Item) {
	if p.undecided == nil {
		p.undecided, p.queued, p.blobs = map[uint32]bool{}, map[uint32]bool{}, map[uint32]string{}
	}
	for _, item := range items {
		if key := ownBlob(item); key != "" {
			p.blobs[item.GetIndex()] = key
		}
	}
}

// ownBlob is the key of an item's input in the object store, if it is there and is
// ours to delete.
func ownBlob(item *pb.Item) string {
	for _, blob := range []*pb.Blob{item.GetBlob(), item.GetRequestBlob()} {
		if blob.GetBucket() == stream.Blobs {
			return blob.GetKey()
		}
	}
	return ""
}

// settle drops a page of which every item is decided, with its blobs. What belongs
// to dead items is kept: they may be put back.
func (t *term) settle(j *job, p *page) {
	if len(p.undecided) > 0 || p.undecided == nil {
		return
	}
	dead := false
	for i := p.first; i <= p.last; i++ {
		if t.board.Dead(j.record.GetId(), i) {
			dead = true
			delete(p.blobs, i)
		}
	}
	keys := make([]string, 0, len(p.blobs))
	for _, key := range p.blobs {
		keys = append(keys, key)
	}
	p.undecided, p.queued, p.blobs = nil, nil, nil
	if !dead {
		delete(j.ranges, p.number)
	}
	id, number := j.record.GetId(), p.number
	t.spawn(func(ctx context.Context) { t.dispose(ctx, id, number, keys, !dead) })
}

// disposals is how often a page that can't be dropped is tried again; what is left
// then goes with its job.
const disposals = 5

// dispose deletes blobs and then the page that names them.
func (t *term) dispose(ctx context.Context, id string, number uint32, blobs []string, whole bool) {
	for range disposals {
		err := t.disposeOnce(ctx, id, number, blobs, whole)
		if err == nil {
			return
		}
		pause(ctx, retryRead)
	}
	t.tel.Logger.Warn("what is left of a job's input can't be deleted now", "job", id, "page", number)
}

func (t *term) disposeOnce(ctx context.Context, id string, number uint32, blobs []string, whole bool) error {
	for _, key := range blobs {
		if err := t.store.Connection().DropBlob(ctx, key); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	return t.store.DropPage(ctx, id, number)
}
