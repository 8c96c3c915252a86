package feed

import "context"

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
