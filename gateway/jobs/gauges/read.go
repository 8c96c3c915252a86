package gauges

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// figures are one look at everything.
type figures struct {
	queues []queue
	models []model
	stores []volume
	dead   uint64
	states *states // nil before the board has caught up
}

// queue is one level of the queue of a model.
type queue struct {
	model, level string
	// pending wait for a worker, held are with one.
	pending, held uint64
	redelivered   int
}

type model struct {
	name string
	// oldest is how long the oldest task has been waiting or with a worker.
	oldest time.Duration
}

// volume is a stream with a bound.
type volume struct {
	name         string
	bytes, limit float64
}

// states counts the jobs, and the items of open ones that have no verdict.
type states struct {
	jobs    map[string]int
	waiting uint64
}

// kept are the streams in files, by what metrics call them.
var kept = []struct{ name, stream string }{
	{"backlog", stream.Inputs},
	{"verdicts", stream.Verdicts},
	{"dead", stream.Dead},
	{"records", "KV_" + stream.Records},
	{"objects", "OBJ_" + stream.Blobs},
	{"uploads", "OBJ_" + stream.Uploads},
}

// levels has the label of each level by its consumer.
var levels = map[string]string{
	stream.StepConsumer(1): "1",
	stream.StepConsumer(2): "2",
	stream.StepConsumer(3): "3",
}

// read asks for the state of each stream, and of each queue's consumers.
func read(ctx context.Context, js jetstream.JetStream) (*figures, error) {
	f := &figures{}
	for _, k := range kept {
		s, err := js.Stream(ctx, k.stream)
		if err != nil {
			return nil, failure.Prefix(k.stream, stream.Failure(err))
		}
		info := s.CachedInfo()
		f.stores = append(f.stores, volume{k.name, float64(info.State.Bytes), float64(info.Config.MaxBytes)})
		if k.stream == stream.Dead {
			f.dead = info.State.Msgs
		}
	}
	names := js.StreamNames(ctx)
	for name := range names.Name() {
		if !strings.HasPrefix(name, stream.StepStream("")) {
			continue
		}
		if err := f.readQueue(ctx, js, name); err != nil {
			return nil, failure.Prefix(name, stream.Failure(err))
		}
	}
	return f, stream.Failure(names.Err())
}

func (f *figures) readQueue(ctx context.Context, js jetstream.JetStream, name string) error {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return err
	}
	info := s.CachedInfo()
	m := model{name: modelOf(info)}
	if info.State.Msgs > 0 {
		// Both times are the server's, so no other clock matters.
		m.oldest = max(info.TimeStamp.Sub(info.State.FirstTime), 0)
	}
	f.models = append(f.models, m)
	consumers := s.ListConsumers(ctx)
	for c := range consumers.Info() {
		if level := levels[c.Name]; level != "" {
			f.queues = append(f.queues, queue{m.name, level, c.NumPending, uint64(max(c.NumAckPending, 0)), c.NumRedelivered})
		}
	}
	return consumers.Err()
}

// modelOf is the model whose tasks a stream has.
func modelOf(info *jetstream.StreamInfo) string {
	if name := info.Config.Metadata[stream.ModelKey]; name != "" {
		return name
	}
	return strings.TrimPrefix(info.Config.Name, stream.StepStream(""))
}

// names of states, as the API has them.
var names = map[pb.State]string{
	pb.State_STATE_ACCEPTED:   "running",
	pb.State_STATE_CANCELLING: "cancelling",
	pb.State_STATE_DONE:       "done",
	pb.State_STATE_CANCELLED:  "cancelled",
}

func (g *Gauges) states() *states {
	if g.board.Ready() != nil {
		return nil
	}
	t := g.board.Totals()
	s := &states{jobs: map[string]int{}, waiting: t.Undecided}
	for state, name := range names {
		s.jobs[name] = t.Jobs[state]
	}
	return s
}
