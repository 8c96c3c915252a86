// Package intake takes jobs in: it reads what was sent as it comes, puts it into the
// job store page by page, and creates the job's record when all of it is stored. That
// is the moment of acceptance. What is refused leaves nothing behind. It looks into no
// image and starts no work.
package intake

import (
	"context"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"triptych/gateway/jobs/board"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/telemetry"
)

// Intake takes jobs in. Safe for concurrent use.
type Intake struct {
	cfg    Config
	store  *jobs.Store
	board  *board.Board
	server inference.GRPCInferenceServiceServer
	tel    *telemetry.Telemetry
	// callbacks are asked whether they could ever be called.
	callbacks Callbacks
	// uploads and spool are what is left for further jobs.
	uploads, spool *semaphore.Weighted
	temporary      string
	now            func() time.Time
}

// Callbacks says of an address whether it may be called when a job has ended.
type Callbacks interface {
	Validate(address string) error
}

// New makes an intake for models that server has. The settings have been validated.
func New(cfg Config, store *jobs.Store, known *board.Board, server inference.GRPCInferenceServiceServer, callbacks Callbacks, tel *telemetry.Telemetry) *Intake {
	return &Intake{
		cfg: cfg, store: store, board: known, server: server, callbacks: callbacks, tel: tel,
		uploads: semaphore.NewWeighted(int64(cfg.Uploads)), spool: semaphore.NewWeighted(cfg.SpoolBytes),
		temporary: os.TempDir(), now: time.Now,
	}
}

// Ask is a request for a job, apart from its body.
type Ask struct {
	ContentType string
	// Length is that of the body, less than 0 when it is not known.
	Length int64
	// Settings are those that do not stand in the body.
	Settings url.Values
	// Key is the Idempotency-Key; empty without one.
	Key string
	// Priority is that of the request itself: 0 was not said.
	Priority uint64
}

// maxKey bounds an idempotency key.
const maxKey = 255

// fill reads the items of a job into a draft.
type fill func(d *draft) error

// Accept reads a job out of a body and gives its record, which is stored then. A
// request that was made before with the same key gives the job of then.
func (in *Intake) Accept(ctx context.Context, ask Ask, body io.Reader) (*pb.Job, error) {
	read, err := reader(ask.ContentType)
	if err != nil {
		return nil, err
	}
	return in.accept(ctx, ask, nil, func(d *draft) error { return read(d, body) })
}

// accept stores a job for a model that is known already, or that the settings name.
func (in *Intake) accept(ctx context.Context, ask Ask, known *target, read fill) (*pb.Job, error) {
	if len(ask.Key) > maxKey {
		return nil, failure.New(failure.Invalid, "the Idempotency-Key has more than %d bytes", maxKey)
	}
	if !in.uploads.TryAcquire(1) {
		return nil, failure.New(failure.Busy, "%d jobs are coming in, as many as are admitted", in.cfg.Uploads)
	}
	defer in.uploads.Release(1)
	id, err := uuid.NewV7()
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "no id can be made for the job")
	}
	d := newDraft(ctx, in, id.String())
	defer d.cancel()
	d.target = known
	if err := d.begin(ctx, ask); err != nil {
		return nil, err
	}
	if !d.repeated {
		// What is left of a full disk is for what was accepted.
		if err := in.store.Connection().Accepts(); err != nil {
			return nil, err
		}
	}
	job, err := in.complete(ctx, d, read)
	if err != nil || job.GetId() != d.id {
		d.discard(ctx)
	}
	return job, err
}

// complete reads the body and stores what it makes.
func (in *Intake) complete(ctx context.Context, d *draft, read fill) (*pb.Job, error) {
	if err := read(d); err != nil {
		return nil, d.reason(err)
	}
	if d.items == 0 {
		return nil, failure.New(failure.Invalid, "the job has no items")
	}
	if d.repeated {
		return in.same(ctx, d)
	}
	job, err := in.record(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := d.settle(); err != nil {
		return nil, err
	}
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	return in.commit(ctx, d, job)
}
