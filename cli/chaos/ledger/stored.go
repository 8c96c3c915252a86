package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/stream"
)

// itemOf is one item of one job.
type itemOf struct {
	job  string
	item uint32
}

// Stored is what lies in NATS of jobs.
type Stored struct {
	// Records are the jobs by their ids.
	Records map[string]*pb.Job
	// verdicts and dead are the messages of the two streams; double are items with
	// more than one message.
	verdicts, dead map[itemOf]*pb.Verdict
	double         []string
	// published is how many messages the verdict stream has ever taken.
	published uint64
	// Pages and Strays are how many pages lie in the backlog, of jobs and of what never
	// became one; Tasks are how many messages lie in the queues.
	Pages, Strays, Tasks int
}

// Read reads all of it, from the streams themselves.
func Read(ctx context.Context, url string) (*Stored, error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	s := &Stored{Records: map[string]*pb.Job{}, verdicts: map[itemOf]*pb.Verdict{}, dead: map[itemOf]*pb.Verdict{}}
	if err := s.records(ctx, js); err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	if s.published, err = s.messages(ctx, js, stream.Verdicts, s.verdicts); err != nil {
		return nil, fmt.Errorf("verdicts: %w", err)
	}
	if _, err = s.messages(ctx, js, stream.Dead, s.dead); err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	if err := s.rest(ctx, js); err != nil {
		return nil, fmt.Errorf("what is left: %w", err)
	}
	return s, nil
}

func (s *Stored) records(ctx context.Context, js jetstream.JetStream) error {
	kv, err := js.KeyValue(ctx, stream.Records)
	if err != nil {
		return err
	}
	keys, err := kv.ListKeysFiltered(ctx, stream.JobRecords)
	if err != nil {
		return err
	}
	for key := range keys.Keys() {
		entry, err := kv.Get(ctx, key)
		if err != nil {
			return err
		}
		job := &pb.Job{}
		if err := proto.Unmarshal(entry.Value(), job); err != nil {
			return err
		}
		s.Records[job.GetId()] = job
	}
	return nil
}

// messages reads a whole stream of verdicts from its leader, and how many messages it
// has ever taken. It needs no consumer, which may itself be a victim.
func (s *Stored) messages(ctx context.Context, js jetstream.JetStream, name string, into map[itemOf]*pb.Verdict) (published uint64, err error) {
	from, err := js.Stream(ctx, name)
	if err != nil {
		return 0, err
	}
	state := from.CachedInfo().State
	for sequence := max(state.FirstSeq, 1); sequence <= state.LastSeq; sequence++ {
		msg, err := from.GetMsg(ctx, sequence)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // replaced by another of its subject
		}
		if err != nil {
			return 0, fmt.Errorf("message %d: %w", sequence, err)
		}
		v := &pb.Verdict{}
		if err := proto.Unmarshal(msg.Data, v); err != nil {
			return 0, err
		}
		job, item, ok := stream.ItemOf(msg.Subject)
		if !ok || job != v.GetJob() || item != v.GetItem() {
			return 0, fmt.Errorf("the message on %s is of item %d of %s", msg.Subject, v.GetItem(), v.GetJob())
		}
		at := itemOf{job, item}
		if into[at] != nil {
			s.double = append(s.double, fmt.Sprintf("%s: %s/%d", name, job, item))
		}
		into[at] = v
	}
	return state.LastSeq, nil
}

func (s *Stored) rest(ctx context.Context, js jetstream.JetStream) error {
	inputs, err := js.Stream(ctx, stream.Inputs)
	if err != nil {
		return err
	}
	info, err := inputs.Info(ctx, jetstream.WithSubjectFilter(stream.InputSubject("*", "*")))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if job, _, ok := stream.ItemOf(subject); ok && s.Records[job] != nil {
			s.Pages++
		} else {
			s.Strays++
		}
	}
	streams := js.ListStreams(ctx)
	for info := range streams.Info() {
		if strings.HasPrefix(info.Config.Name, stream.StepStream("")) {
			s.Tasks += int(info.State.Msgs) //nolint:gosec // a test's few
		}
	}
	return streams.Err()
}
