package intake

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"time"

	"triptych/shared/failure"
)

const (
	// pageItems is how many items a page may have: it lies in the store until all of
	// them are done.
	pageItems = 1024
	// itemRoom is left in a page for what an item takes beside its image.
	itemRoom = 2 << 10
	// maxName bounds the name of an item.
	maxName = 1024
)

// draft is a job that is coming in. It is not safe for concurrent use.
type draft struct {
	in     *Intake
	id     string
	ask    settings
	cancel context.CancelFunc
	// ctx ends when the request does, or when the store has refused something.
	ctx   context.Context
	pages *pages
	blobs *blobs
	// inline is the size up to which an image lies in its page.
	inline  int
	scratch []byte

	items uint32
	bytes int64
	key   []byte
	// sum is of all items; nil without an idempotency key.
	sum hash.Hash
	// repeated is set when the key is in use: nothing is stored then.
	repeated bool
	// target is the model when it is known before the settings are.
	target *target
	// unsure is set when nobody can say whether the record is stored.
	unsure bool
}

func newDraft(ctx context.Context, in *Intake, id string) *draft {
	d := &draft{in: in, id: id}
	ctx, cancel := context.WithCancelCause(ctx)
	d.ctx, d.cancel = ctx, func() { cancel(context.Canceled) }
	size := in.store.Connection().PageBytes()
	d.inline = min(in.store.Connection().Limits().InlineBytes-1, size-itemRoom)
	d.pages = newPages(in.store, id, size)
	d.blobs = newBlobs(ctx, cancel, in.store.Connection(), id)
	return d
}

// begin refuses what can be refused before the body is read.
func (d *draft) begin(ctx context.Context, ask Ask) error {
	if err := d.ask.take(ask); err != nil {
		return err
	}
	if err := d.recall(ctx, ask.Key); err != nil || d.repeated {
		return err
	}
	if err := d.promising(ctx); err != nil {
		return err
	}
	return d.in.room(ctx)
}

// promising refuses settings that are known to be wrong though more may come. A
// request that was made before needs to be right no more.
func (d *draft) promising(ctx context.Context) error {
	if d.repeated {
		return nil
	}
	if _, err := d.ask.check(d.in); err != nil {
		return err
	}
	if d.target != nil || d.ask.text["model"] == "" {
		return nil
	}
	_, err := d.in.target(ctx, &d.ask)
	return err
}

// recall looks whether an idempotency key is in use.
func (d *draft) recall(ctx context.Context, key string) error {
	if key == "" {
		return nil
	}
	hashed := sha256.Sum256([]byte(key))
	d.key, d.sum = hashed[:], sha256.New()
	known, _, err := d.in.store.Key(ctx, d.key)
	if err == nil {
		_, err = d.in.store.Job(ctx, known.GetId())
		d.repeated = err == nil
	}
	if failure.KindOf(err) == failure.NotFound {
		return nil // it is new, or whoever had it did not come to its end
	}
	return err
}

// reason is why the job ends: what the store said goes before what followed from it.
func (d *draft) reason(err error) error {
	if err == nil {
		return nil
	}
	if refused := d.blobs.refused(); refused != nil {
		err = refused
	}
	var f *failure.Error
	if errors.As(err, &f) && f.Kind == failure.Busy && f.RetryAfter == 0 {
		return d.in.full(err, d.pages.bytes)
	}
	return err
}

// settle waits until everything is stored.
func (d *draft) settle() error {
	if err := d.pages.finish(d.ctx); err != nil {
		return d.reason(err)
	}
	return d.reason(d.blobs.finish())
}

// discardTimeout bounds the deletion of what was refused. What it leaves is collected
// like all that has no record.
const discardTimeout = 20 * time.Second

// discard deletes what was stored, after all that is on its way has come there.
func (d *draft) discard(ctx context.Context) {
	d.cancel()
	if d.unsure {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	if err := errors.Join(d.pages.drop(ctx), d.blobs.drop(ctx)); err != nil {
		d.in.tel.Logger.WarnContext(ctx, "what was stored of a refused job stays until it is collected", "job", d.id, "error", err)
	}
}
