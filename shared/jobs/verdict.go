package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// outcomePrefix is left out where an outcome is shown.
const outcomePrefix = "OUTCOME_"

// OutcomeName is an outcome as headers and users see it, such as "succeeded".
func OutcomeName(o pb.Outcome) string {
	return strings.ToLower(strings.TrimPrefix(o.String(), outcomePrefix))
}

// OutcomeNamed is the outcome of a name; OUTCOME_UNSPECIFIED for one that there is
// not.
func OutcomeNamed(name string) pb.Outcome {
	return pb.Outcome(pb.Outcome_value[outcomePrefix+strings.ToUpper(name)])
}

// Verdict completes a verdict with what is known of the task's item.
func (t *Task) Verdict(ctx context.Context, v *pb.Verdict) *pb.Verdict {
	v.Job, v.Item, v.Name, v.Times, v.Started = t.GetJob(), t.GetItem(), t.GetName(), t.GetTimes(), t.GetAttempt()
	v.RequestId, v.Attempts = call.Of(ctx).RequestID, max(v.GetAttempts(), t.Failed)
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		v.TraceId = sc.TraceID().String()
	}
	return v
}

// Decide writes an item's verdict, once: only if the last message on it is the one
// of sequence fence, 0 for none. It is false when there is a verdict already, or
// the item was put back since: then what came of this run counts for nothing. An
// error means that nothing is known of whether it is written: try again.
func (s *Store) Decide(ctx context.Context, v *pb.Verdict, fence uint64) (won bool, err error) {
	v.AtMs = time.Now().UnixMilli()
	response := v.GetResponse()
	if err := s.fitVerdict(ctx, v); err != nil {
		return false, err
	}
	h := nats.Header{stream.OutcomeHeader: {OutcomeName(v.GetOutcome())}}
	subject := stream.VerdictSubject(v.GetJob(), strconv.FormatUint(uint64(v.GetItem()), 10))
	err = s.publish(ctx, subject, h, v, jetstream.WithExpectLastSequencePerSubject(fence), jetstream.WithExpectStream(stream.Verdicts))
	switch {
	case failure.KindOf(err) == failure.Conflict && err != nil:
		return s.lose(ctx, v)
	case failure.KindOf(err) == failure.Busy && v.GetResponseBlob() != nil && response != nil:
		// Nothing was written, and whoever tries again writes the answer anew.
		dropped := s.conn.DropBlob(ctx, v.GetResponseBlob().GetKey())
		v.Response, v.ResponseBlob = response, nil
		return false, errors.Join(err, dropped)
	}
	return err == nil, err
}

// lose tells whose the verdict is that is there already: that of an earlier try to
// write this one, or another's, beside which this one's answer is of no use.
func (s *Store) lose(ctx context.Context, v *pb.Verdict) (own bool, err error) {
	if v.GetResponseBlob() == nil {
		return false, nil
	}
	there, _, err := s.Verdict(ctx, v.GetJob(), v.GetItem())
	if err != nil && failure.KindOf(err) != failure.NotFound {
		return false, err
	}
	if there.GetResponseBlob().GetKey() == v.GetResponseBlob().GetKey() {
		return true, nil
	}
	return false, s.conn.DropBlob(ctx, v.GetResponseBlob().GetKey())
}

// fitVerdict moves a response that is too large for a message into the object
// store.
func (s *Store) fitVerdict(ctx context.Context, v *pb.Verdict) error {
	if v.GetResponse() == nil || proto.Size(v) <= int(s.conn.MaxPayload())-stream.HeaderRoom {
		return nil
	}
	data, err := proto.Marshal(v.GetResponse())
	if err != nil {
		return failure.Wrap(err, failure.Internal, "an answer can't be written")
	}
	// Of two runs of one item, the one whose verdict does not count must not change
	// the other's answer: no two have the same key.
	key := fmt.Sprintf("%s/answer/%d/%d/%s", v.GetJob(), v.GetItem(), v.GetStarted(), nuid.Next())
	if v.ResponseBlob, err = s.conn.PutBlob(ctx, stream.Blobs, key, data); err != nil {
		return err
	}
	v.Response = nil
	return nil
}

// Verdict reads an item's verdict and the sequence of its message. NotFound when
// there is none.
func (s *Store) Verdict(ctx context.Context, job string, item uint32) (*pb.Verdict, uint64, error) {
	v := &pb.Verdict{}
	msg, err := s.last(ctx, stream.Verdicts, stream.VerdictSubject(job, strconv.FormatUint(uint64(item), 10)), v)
	if err != nil {
		return nil, 0, err
	}
	return v, msg.Sequence, nil
}

// LastVerdict is the sequence of the last verdict of a job; 0 when it has none.
func (s *Store) LastVerdict(ctx context.Context, job string) (uint64, error) {
	msg, err := s.last(ctx, stream.Verdicts, stream.VerdictSubject(job, "*"), &pb.Verdict{})
	if failure.KindOf(err) == failure.NotFound {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return msg.Sequence, nil
}

// Decided tells whether an item needs no run any longer whose verdict would replace
// the message of sequence fence: it has a verdict, or was put back since.
func (s *Store) Decided(ctx context.Context, job string, item uint32, fence uint64) (*pb.Verdict, error) {
	v, sequence, err := s.Verdict(ctx, job, item)
	if failure.KindOf(err) == failure.NotFound || err == nil && sequence <= fence {
		return nil, nil
	}
	return v, err
}

// Fence is what the verdict of an item must replace now, for who knows nothing else
// of it. Decided is true when it has a verdict.
func (s *Store) Fence(ctx context.Context, job string, item uint32) (fence uint64, decided bool, err error) {
	v, sequence, err := s.Verdict(ctx, job, item)
	if failure.KindOf(err) == failure.NotFound {
		return 0, false, nil
	}
	return sequence, err == nil && v.GetOutcome() != pb.Outcome_OUTCOME_REQUEUED, err
}
