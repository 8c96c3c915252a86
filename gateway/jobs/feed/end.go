package feed

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"triptych/gateway/jobs/board"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
)

const (
	// maxEndings bounds the jobs whose items get verdicts without a run at once, and
	// maxDecides the verdicts of one job that are written at once: the disk takes them
	// one by one, and those of other jobs are not to wait behind too many.
	maxEndings = 4
	maxDecides = 16
	// nameless is how many items without a page are ended in one go.
	nameless = 1024
	// recheck is the pause between two looks at whether all items are decided.
	recheck = 100 * time.Millisecond
	// rest is how long verdicts may be on their way to the board.
	rest = 2 * time.Second
	// markWithin is how long a job that was opened again waits for an item to be put
	// back.
	markWithin = 5 * time.Second
)

// finish gives all items of a job that have no verdict the same one. Of an item
// that runs at that moment the first verdict counts.
func (t *term) finish(j *job, v *pb.Verdict) {
	if j.ending {
		return
	}
	j.ending = true
	t.empty(j)
	j.road.forget(j)
	record := j.record
	t.spawn(func(ctx context.Context) {
		select {
		case t.room <- struct{}{}:
			defer func() { <-t.room }()
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil && !t.finished(ctx, j, record, v) {
			pause(ctx, recheck)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		j.ending, j.listed, j.ranges = false, true, map[uint32]*page{}
		t.close(j)
	})
}

// finished tries once.
func (t *term) finished(ctx context.Context, j *job, record *pb.Job, v *pb.Verdict) bool {
	id := record.GetId()
	pages, err := t.pages(ctx, id)
	for i := 0; err == nil && i < len(pages); i++ {
		var p *pb.Page
		if p, err = t.store.Page(ctx, id, pages[i]); failure.KindOf(err) == failure.NotFound {
			err = nil
		}
		if err == nil {
			err = t.finishPage(ctx, j, record, v, pages[i], p.GetItems())
		}
	}
	if err == nil {
		err = t.rest(ctx, j, record, v)
	}
	if err != nil && ctx.Err() == nil {
		t.tel.Logger.Warn("a job's items can't be ended now", "job", id, "error", err)
		pause(ctx, retryRead)
	}
	return err == nil
}

// finishPage gives the items of a page their verdicts and drops it, unless one of
// them is dead, or may be.
func (t *term) finishPage(ctx context.Context, j *job, record *pb.Job, v *pb.Verdict, number uint32, items []*pb.Item) error {
	all, err := t.decideAll(ctx, j, record, v, items)
	if err != nil || !all || len(items) == 0 {
		return err
	}
	var blobs []string
	for _, item := range items {
		if t.board.Dead(record.GetId(), item.GetIndex()) {
			return nil
		}
		if key := ownBlob(item); key != "" {
			blobs = append(blobs, key)
		}
	}
	t.dispose(ctx, record.GetId(), number, blobs, true)
	return nil
}

// rest ends the items that are on no page, once the board has heard of the others.
func (t *term) rest(ctx context.Context, j *job, record *pb.Job, v *pb.Verdict) error {
	id := record.GetId()
	for begin := time.Now(); ; {
		left := t.board.Undecided(id, 0, nameless)
		if len(left) == 0 {
			return nil
		}
		if time.Since(begin) < rest {
			if pause(ctx, recheck); ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		items := make([]*pb.Item, len(left))
		for i, item := range left {
			items[i] = &pb.Item{Index: item}
		}
		if _, err := t.decideAll(ctx, j, record, v, items); err != nil {
			return err
		}
		begin = time.Now()
	}
}

// decideAll writes the verdicts of those of some items that have none, and tells
// whether nobody else wrote one of them meanwhile.
func (t *term) decideAll(ctx context.Context, j *job, record *pb.Job, template *pb.Verdict, items []*pb.Item) (all bool, failed error) {
	all = true
	places := make(chan struct{}, maxDecides)
	var deciding sync.WaitGroup
	var mu sync.Mutex
	for _, item := range items {
		if t.board.Has(record.GetId(), item.GetIndex()) {
			continue
		}
		places <- struct{}{}
		deciding.Go(func() {
			defer func() { <-places }()
			won, err := t.decide(ctx, j, record, template, item)
			mu.Lock()
			defer mu.Unlock()
			all = all && won
			if err != nil {
				failed = err
			}
		})
	}
	deciding.Wait()
	return all, failed
}

func (t *term) decide(ctx context.Context, j *job, record *pb.Job, template *pb.Verdict, item *pb.Item) (won bool, err error) {
	v := &pb.Verdict{Job: record.GetId(), Item: item.GetIndex(), Name: item.GetName(), RequestId: record.GetRequestId(), Outcome: template.GetOutcome(), Error: template.GetError()}
	if wrong := item.GetError(); wrong != nil {
		v.Outcome, v.Error = pb.Outcome_OUTCOME_FAILED, wrong
	}
	t.mu.Lock()
	if f := j.flights[item.GetIndex()]; f != nil {
		v.Started, v.TraceId = f.attempt, f.trace()
	}
	t.mu.Unlock()
	won, err = t.store.Decide(ctx, v, 0)
	if won || err != nil || !t.board.Requeued(v.GetJob(), v.GetItem()) {
		return won, err
	}
	mark, sequence, err := t.store.Verdict(ctx, v.GetJob(), v.GetItem())
	if err != nil || mark.GetOutcome() != pb.Outcome_OUTCOME_REQUEUED {
		return false, err
	}
	v.Started = max(v.GetStarted(), mark.GetStarted())
	return t.store.Decide(ctx, v, sequence)
}

// close ends a job of which every item is decided, and tells whether it is one.
func (t *term) close(j *job) bool {
	s, err := t.board.Job(j.record.GetId())
	if err != nil || board.Open(s.Record) && s.Undecided() > 0 {
		return false
	}
	if j.closing || len(j.died) > 0 || !board.Open(s.Record) || j.expectsMark(s) {
		return true
	}
	j.closing = true
	unread := j.unread()
	t.spawn(func(ctx context.Context) {
		err := t.seal(ctx, s)
		if err == nil && unread {
			t.late(ctx, s.Record.GetId())
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if err != nil {
			j.closing = false // the next beat tries again
		}
	})
	return true
}

// expectsMark tells whether a job was opened again for an item whose mark has not come
// yet: whoever opens a job puts the item back after that.
func (j *job) expectsMark(s *board.Snapshot) bool {
	return s.Record.GetReopened() && s.Sequence == s.Record.GetVerdictsAfter() && time.Since(j.admitted) < markWithin
}

// seal writes the end into a job's record.
func (t *term) seal(ctx context.Context, s *board.Snapshot) error {
	record, err := t.store.Update(ctx, s.Record.GetId(), func(job *pb.Job) error {
		if !board.Open(job) {
			return failure.New(failure.Conflict, "the job has ended")
		}
		state := pb.State_STATE_DONE
		if job.GetState() == pb.State_STATE_CANCELLING {
			state = pb.State_STATE_CANCELLED
		}
		job.State, job.EndedMs, job.Reopened = state, t.cfg.Now().UnixMilli(), false
		job.Counts, _ = proto.Clone(s.Counts).(*pb.Counts)
		job.VerdictsAfter, job.Callback = s.Sequence, nil
		if job.GetCallbackUrl() != "" {
			job.Callback = &pb.Callback{}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.metrics.ended.WithLabelValues(stateName(record.GetState())).Inc()
	t.tel.Logger.Info("a job has ended", "job", record.GetId(), "state", stateName(record.GetState()), "items", record.GetItems(), "dead", record.GetCounts().GetDead())
	return nil
}

func stateName(s pb.State) string {
	if s == pb.State_STATE_CANCELLED {
		return "cancelled"
	}
	return "done"
}

// reopening opens a job that has ended although an item of it was put back: the
// two have crossed.
func (t *term) reopening(id string) {
	t.spawn(func(ctx context.Context) {
		if err := t.reopen(ctx, id); err != nil {
			t.tel.Logger.Warn("a job can't be opened again", "job", id, "error", err)
		}
	})
}

// reopen opens a job that has ended. One that is open, or gone, is left alone.
func (t *term) reopen(ctx context.Context, id string) error {
	_, err := t.store.Update(ctx, id, func(job *pb.Job) error {
		if board.Open(job) {
			return failure.New(failure.Conflict, "the job is open")
		}
		job.State, job.Reopened, job.EndedMs = pb.State_STATE_ACCEPTED, true, 0
		return nil
	})
	if failure.KindOf(err) == failure.Conflict || failure.KindOf(err) == failure.NotFound {
		return nil
	}
	return err
}
