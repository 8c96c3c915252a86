package intake

import (
	"bytes"
	"context"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
)

const (
	// commitTimeout bounds the acceptance of a job whose items are all stored.
	commitTimeout = 15 * time.Second
	commitPause   = 100 * time.Millisecond
)

// commit accepts a job: its record is stored. Another job is returned when somebody
// else was first with the same key. A caller who goes away now changes nothing.
func (in *Intake) commit(ctx context.Context, d *draft, job *pb.Job) (*pb.Job, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	var err error
	// What was decided before now can't be about this job.
	if job.VerdictsAfter, err = in.verdicts(ctx, job.GetItems()); err != nil {
		return nil, err
	}
	job.Pages, job.CreatedMs = d.pages.count, in.now().UnixMilli()
	for {
		if d.key != nil {
			if other, err := in.claim(ctx, d, job); other != nil || err != nil {
				return other, err
			}
		}
		err := in.store.Create(ctx, job)
		if err == nil {
			return job, nil
		}
		known, missed := in.store.Job(ctx, job.GetId())
		if known != nil {
			return known, nil // also when the answer to an earlier try was lost
		}
		kind, sure := failure.KindOf(err), failure.KindOf(missed) == failure.NotFound
		switch {
		case kind == failure.Busy, kind == failure.TooLarge:
			return nil, d.reason(err)
		case kind == failure.Conflict && sure:
			d.unsure = false // made void: it never will be
			return in.made(ctx, d)
		}
		// From here on no failure may delete what a record may need.
		d.unsure = true
		select {
		case <-ctx.Done():
			return nil, failure.Wrap(err, failure.Unavailable, "the job store does not answer")
		case <-time.After(commitPause):
		}
	}
}

// claim makes the idempotency key stand for a job. The job that it stands for already
// is returned instead, when there is one. A job that has the key and no record, since
// its gateway has gone or is slower than we, is made void.
func (in *Intake) claim(ctx context.Context, d *draft, job *pb.Job) (*pb.Job, error) {
	for {
		known, revision, err := in.store.Key(ctx, d.key)
		switch {
		case err == nil && known.GetId() == job.GetId():
			return nil, nil
		case err == nil:
			other, err := in.other(ctx, known.GetId(), job.GetDigest())
			if failure.KindOf(err) != failure.NotFound {
				return other, err
			}
			if void, err := in.store.Void(ctx, known.GetId()); err != nil {
				return nil, err
			} else if !void {
				continue
			}
		case failure.KindOf(err) != failure.NotFound:
			return nil, err
		}
		err = in.store.ClaimKey(ctx, job, revision)
		if failure.KindOf(err) != failure.Conflict {
			return nil, err
		}
		if err := failure.OfContext(ctx); err != nil {
			return nil, failure.Wrap(err, failure.Unavailable, "the idempotency key is in use by others")
		}
	}
}

// other is a job that an idempotency key stands for, if it was asked for in the same
// way.
func (in *Intake) other(ctx context.Context, id string, digest []byte) (*pb.Job, error) {
	job, err := in.store.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(job.GetDigest(), digest) {
		return nil, failure.New(failure.Conflict, "the Idempotency-Key was used before, for a job with other settings or items")
	}
	return job, nil
}

// same is the job of a request that was made before.
func (in *Intake) same(ctx context.Context, d *draft) (*pb.Job, error) {
	digest, err := d.digest()
	if err != nil {
		return nil, err
	}
	known, _, err := in.store.Key(ctx, d.key)
	if err != nil {
		return nil, gone(err)
	}
	job, err := in.other(ctx, known.GetId(), digest)
	return job, gone(err)
}

// made is the job that somebody else made while ours was made void.
func (in *Intake) made(ctx context.Context, d *draft) (*pb.Job, error) {
	if d.key == nil {
		return nil, failure.New(failure.Unavailable, "the job took too long to come and was given up")
	}
	for {
		job, err := in.same(ctx, d)
		if failure.KindOf(err) != failure.Unavailable {
			return job, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(commitPause):
		}
	}
}

// gone makes of a job that is no longer, or not yet, there something to try again.
func gone(err error) error {
	if failure.KindOf(err) == failure.NotFound && err != nil {
		return failure.Wrap(err, failure.Unavailable, "the job of this Idempotency-Key is coming or going")
	}
	return err
}
