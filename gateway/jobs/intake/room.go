package intake

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
	"triptych/shared/stream"
)

const (
	// verdictBytes is what a verdict takes as long as there are too few to say, and
	// verdictsKnown how many there must be.
	verdictBytes  = 1 << 10
	verdictsKnown = 1000
	// What a full store tells callers to wait, when nobody knows better, and at most.
	waitUnknown = 30 * time.Second
	waitMost    = 5 * time.Minute
)

// info is the state of a stream; one that is not there yet is Unavailable.
func (in *Intake) info(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	s, err := in.store.Connection().JetStream().Stream(ctx, name)
	if err != nil {
		return nil, failure.Wrap(err, failure.Unavailable, "the job store is not ready")
	}
	return s.CachedInfo(), nil
}

// page is the bytes of a page.
func (in *Intake) page() int64 { return int64(in.store.Connection().PageBytes()) }

// room refuses a job early when not even a page of it would fit, or what the disk has
// left is for jobs that were accepted.
func (in *Intake) room(ctx context.Context) error {
	if err := in.store.Connection().Accepts(); err != nil {
		return err
	}
	info, err := in.info(ctx, stream.Inputs)
	if err != nil {
		return err
	}
	if most := info.Config.MaxBytes; most > 0 && int64(info.State.Bytes)+in.page() > most {
		return in.full(failure.New(failure.Busy, "the backlog of jobs is full"), 0)
	}
	return nil
}

// verdicts is the sequence of the last verdict. It refuses a job whose own verdicts
// would not fit beside those that are there and those that open jobs are still to get.
func (in *Intake) verdicts(ctx context.Context, items uint32) (last uint64, err error) {
	info, err := in.info(ctx, stream.Verdicts)
	if err != nil {
		return 0, err
	}
	each := uint64(verdictBytes)
	if info.State.Msgs >= verdictsKnown {
		each = max(info.State.Bytes/info.State.Msgs, 1)
	}
	if most := uint64(max(info.Config.MaxBytes, 0)); most > 0 {
		need := uint64(items) * each
		if need > most {
			return 0, failure.New(failure.TooLarge, "the job has %d items, there is room for the results of %d", items, most/each)
		}
		if info.State.Bytes+need+in.board.Totals().Undecided*each > most {
			return 0, in.full(failure.New(failure.Busy, "there is no room for the results of %d more items", items), 0)
		}
	}
	return info.State.LastSeq, nil
}

// full says that a job does not fit into the store, and when so many bytes may have
// become free: by the rate at which the inputs of all jobs are done with. One that
// fills the backlog alone will never fit.
func (in *Intake) full(err error, bytes int64) error {
	if most := in.store.Connection().Limits().BacklogBytes; bytes > most-most/10 {
		return failure.Wrap(err, failure.TooLarge, "the job has more bytes than the backlog of jobs, which has %d", most)
	}
	rate := in.board.Totals().BytesRate
	cause := err
	if own := (*failure.Error)(nil); errors.As(err, &own) {
		cause = own.Cause // its message is that of the new one
	}
	f := failure.Wrap(cause, failure.Busy, "%s", failure.Message(err))
	f.RetryAfter = waitUnknown
	if rate > 0 {
		f.RetryAfter = min(max(time.Duration(float64(max(bytes, in.page()))/rate*float64(time.Second)), time.Second), waitMost)
	}
	return f
}
