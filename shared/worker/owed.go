package worker

import (
	"context"
	"fmt"
	"sync"

	pb "triptych/proto/jobs"
	"triptych/shared/jobs"
)

// excuse is deliveries of a task that do not count as failed.
type excuse struct {
	task     *jobs.Task
	sequence uint64
	from, to uint64 // numbers of deliveries
}

// note has the excuse count for every worker.
func (e excuse) note(ctx context.Context, store *jobs.Store) error {
	name := fmt.Sprintf("%d-%d.excused", e.from, e.to)
	return store.ChangeNote(ctx, e.task, e.sequence, name, func(n *pb.Note) { n.Excused += e.count() })
}

func (e excuse) count() uint32 { return uint32(min(e.to+1-e.from, 1<<20)) }

// maxOwed bounds the excuses that are kept until they can be noted; beyond it those
// deliveries count.
const maxOwed = 4096

// owed are excuses that are still to be noted, for NATS is away. Safe for concurrent
// use.
type owed struct {
	mu   sync.Mutex
	list []excuse
	woke chan struct{}
}

func (o *owed) add(e excuse) {
	o.mu.Lock()
	if len(o.list) < maxOwed {
		e.task = &jobs.Task{Task: &pb.Task{Job: e.task.GetJob(), Item: e.task.GetItem(), Step: e.task.GetStep(), Attempt: e.task.GetAttempt()}}
		o.list = append(o.list, e)
	}
	o.mu.Unlock()
	o.wake()
}

// wake has the door look around at once.
func (o *owed) wake() {
	select {
	case o.woke <- struct{}{}:
	default:
	}
}

// of is how many deliveries of a task's message are excused that no note tells of.
func (o *owed) of(t *jobs.Task, sequence uint64) (n uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.list {
		if e.sequence == sequence && e.task.GetJob() == t.GetJob() && e.task.GetItem() == t.GetItem() &&
			e.task.GetStep() == t.GetStep() && e.task.GetAttempt() == t.GetAttempt() {
			n += e.count()
		}
	}
	return n
}

// pay notes what is owed, until that fails for a reason that may pass.
func (o *owed) pay(ctx context.Context, store *jobs.Store) {
	for {
		o.mu.Lock()
		if len(o.list) == 0 {
			o.mu.Unlock()
			return
		}
		first := o.list[0]
		o.mu.Unlock()
		if err := first.note(ctx, store); err != nil && (mayPass(err) || ctx.Err() != nil) {
			return
		}
		o.mu.Lock()
		o.list = o.list[1:]
		o.mu.Unlock()
	}
}
