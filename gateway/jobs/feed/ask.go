package feed

import (
	"context"
	"sync"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
)

// maxAsks bounds the questions that are asked at once.
const maxAsks = 16

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
