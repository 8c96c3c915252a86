package feed

import (
	"context"

	"triptych/gateway/jobs/board"
	"triptych/shared/failure"
)

// unread tells whether a job whose items are all decided may have pages that nobody
// has dropped: those whose verdicts came while another fed, or nobody did.
func (j *job) unread() bool {
	return !j.listed || len(j.todo) > 0 || len(j.hands) > 0 || len(j.ranges) > 0
}

// clear drops the pages that an ended job still has, with their blobs. It keeps all
// of a job with dead items, which may be put back.
func (t *term) clear(ctx context.Context, id string) error {
	s, err := t.board.Job(id)
	if err != nil || board.Open(s.Record) || s.Record.GetCounts().GetDead() > 0 {
		return nil //nolint:nilerr // a job that is not known has no remains, or those of a stray
	}
	pages, err := t.pages(ctx, id)
	if err != nil {
		return err
	}
	for _, number := range pages {
		p, err := t.store.Page(ctx, id, number)
		if failure.KindOf(err) == failure.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		var blobs []string
		for _, item := range p.GetItems() {
			if key := ownBlob(item); key != "" {
				blobs = append(blobs, key)
			}
		}
		if err := t.disposeOnce(ctx, id, number, blobs, true); err != nil {
			return err
		}
		t.metrics.collected.WithLabelValues("remains").Inc()
	}
	return nil
}

// late clears a job that has just ended, once the board knows that.
func (t *term) late(ctx context.Context, id string) {
	for range disposals {
		s, err := t.board.Job(id)
		if err == nil && !board.Open(s.Record) {
			if t.clear(ctx, id) == nil {
				return
			}
		}
		if pause(ctx, recheck); ctx.Err() != nil {
			return
		}
	}
	// What is left is found by the next look for what can be deleted.
}
