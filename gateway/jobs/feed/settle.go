package feed

import (
	"context"

	"triptych/gateway/jobs/board"
)

// settle drops a page of which every item is decided, with its blobs. What belongs
// to items that are dead is kept, for they may be put back, and to those that were put
// back already, for which the page is to be read again. Of a job that has ended the
// board no longer knows who is dead: what is left of it is cleared at its end.
func (t *term) settle(j *job, p *page) {
	if len(p.undecided) > 0 || p.undecided == nil {
		return
	}
	id, number, needed := j.record.GetId(), p.number, false
	if s, err := t.board.Job(id); err != nil || !board.Open(s.Record) {
		return
	}
	for i := p.first; i <= p.last; i++ {
		if t.board.Dead(id, i) || !t.board.Has(id, i) {
			needed = true
			delete(p.blobs, i)
		}
	}
	keys := make([]string, 0, len(p.blobs))
	for _, key := range p.blobs {
		keys = append(keys, key)
	}
	p.undecided, p.queued, p.blobs = nil, nil, nil
	if !needed {
		delete(j.ranges, number)
	}
	t.spawn(func(ctx context.Context) { t.dispose(ctx, id, number, keys, !needed) })
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
