package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/pipeline"
	"triptych/shared/stream"
)

// Task is one step of one item, with the plan that it belongs to. What else
// travels with it, its request id, its priority and its trace, is in a context.
type Task struct {
	*pb.Task
	Plan *pipeline.Plan
	// Deadline is when the item must be done.
	Deadline time.Time
}

// Model is the model that the task's step calls.
func (t *Task) Model() string { return t.Plan.Steps()[t.GetStep()].Model }

// ReadTask reads a task out of a message. The context gets what travels with it.
func (s *Store) ReadTask(ctx context.Context, h nats.Header, data []byte) (context.Context, *Task, error) {
	t := &Task{Task: &pb.Task{}}
	ctx, t.Deadline = stream.Extract(ctx, h)
	if err := proto.Unmarshal(data, t.Task); err != nil {
		return ctx, nil, failure.Wrap(err, failure.Internal, "a task can't be read")
	}
	var err error
	if t.Plan, err = s.plans.get(t.GetPlan()); err != nil {
		return ctx, nil, err
	}
	if int(t.GetStep()) >= t.Plan.End() {
		return ctx, nil, failure.New(failure.Internal, "a task names step %d of a plan of %d", t.GetStep(), t.Plan.End())
	}
	return ctx, t, nil
}

// Request is the request of the task's step. Tensors that lie in the object store
// are fetched; NotFound means that one is gone, and with it this run of the item.
func (s *Store) Request(ctx context.Context, t *Task) (*inference.ModelInferRequest, error) {
	if err := s.fetch(ctx, t); err != nil {
		return nil, err
	}
	return t.Plan.Request(int(t.GetStep()), t.Plan.NewPool(t.GetPool()), t.GetPool()), nil
}

// fetch reads the tensors of a task that lie in the object store.
func (s *Store) fetch(ctx context.Context, t *Task) error {
	for i, in := range t.GetPool().GetInputs() {
		blob := t.GetBlobs()[in.GetName()]
		if blob == nil {
			continue
		}
		data, err := s.conn.GetBlob(ctx, blob, 0)
		if err != nil {
			return err
		}
		t.Pool.RawInputContents[i] = data
	}
	t.Blobs = nil
	return nil
}

// headerRoom is left for headers in a message: they count as payload.
const headerRoom = 4 << 10

// Enqueue puts a task into its model's queue, which is made if it is not there. A
// full queue is Busy. The same task again, by its job, item, step and attempt, is
// stored once.
func (s *Store) Enqueue(ctx context.Context, t *Task) error {
	if err := s.fit(ctx, t); err != nil {
		return err
	}
	level := stream.Level(call.Of(ctx).Priority)
	subject := stream.StepSubject(t.Model(), level, t.GetJob(), t.GetItem(), t.GetStep())
	h := nats.Header{}
	stream.Inject(ctx, h, t.Deadline)
	id := fmt.Sprintf("%s:%d:%d:%d", t.GetJob(), t.GetItem(), t.GetStep(), t.GetAttempt())
	send := func() error {
		_, err := s.publish(ctx, subject, h, t.Task, jetstream.WithMsgID(id), jetstream.WithExpectStream(stream.StepStream(t.Model())))
		return err
	}
	err := send()
	if failure.KindOf(err) != failure.Unavailable && failure.KindOf(err) != failure.NotFound || s.conn.Ready() != nil {
		return err
	}
	// No server answers for a subject that no stream has: nobody has served the
	// model yet, or its queue was in the memory of a server that has gone.
	if err := s.conn.EnsureModel(ctx, t.Model()); err != nil {
		return err
	}
	return send()
}

// fit moves tensors into the object store until the task fits into a message, the
// largest first.
func (s *Store) fit(ctx context.Context, t *Task) error {
	most := int(s.conn.MaxPayload()) - headerRoom
	for proto.Size(t.Task) > most {
		largest := -1
		for i, data := range t.GetPool().GetRawInputContents() {
			if largest < 0 || len(data) > len(t.Pool.RawInputContents[largest]) {
				largest = i
			}
		}
		if largest < 0 || len(t.Pool.RawInputContents[largest]) == 0 {
			return failure.New(failure.TooLarge, "a task of %d bytes does not fit into a message of NATS, of %d", proto.Size(t.Task), most)
		}
		name := t.GetPool().GetInputs()[largest].GetName()
		key := fmt.Sprintf("%s/%d/%d/%d/%s", t.GetJob(), t.GetItem(), t.GetAttempt(), t.GetStep(), name)
		blob, err := s.conn.PutBlob(ctx, stream.Tensors, key, t.Pool.RawInputContents[largest])
		if err != nil {
			return err
		}
		if t.Blobs == nil {
			t.Blobs = map[string]*pb.Blob{}
		}
		t.Blobs[name], t.Pool.RawInputContents[largest] = blob, nil
	}
	return nil
}

// poolOf is the tensors of a pool that a step needs, as they travel; parameters, id
// and wanted outputs are those of the request before.
func poolOf(plan *pipeline.Plan, step int, pool pipeline.Pool, before *inference.ModelInferRequest) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{Id: before.GetId(), Parameters: before.GetParameters(), Outputs: before.GetOutputs()}
	for _, name := range plan.Needed(step) {
		if t, ok := pool[name]; ok {
			t.Name = name
			oip.AddInput(req, t)
		}
	}
	return req
}
