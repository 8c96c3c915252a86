package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"go.opentelemetry.io/otel/trace"
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
	// Root is the span of the item, below which all its steps are; From is the span
	// that published the task. Either may be invalid.
	Root, From trace.SpanContext
	// Failed is how many runs of the step failed or never ended.
	Failed uint32

	// used are the blobs of the task that lie between two steps: nobody needs them
	// when the task is done.
	used []*pb.Blob
}

// Model is the model that the task's step calls.
func (t *Task) Model() string { return t.Plan.Steps()[t.GetStep()].Model }

// ReadTask reads a task out of a message. The context gets what travels with it.
func (s *Store) ReadTask(ctx context.Context, h nats.Header, data []byte) (context.Context, *Task, error) {
	t := &Task{Task: &pb.Task{}}
	ctx, t.Deadline = stream.Extract(ctx, h)
	t.Root, t.From = trace.SpanContextFromContext(ctx), publisher(h)
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
	if len(t.GetPool().GetInputs()) != len(t.GetPool().GetRawInputContents()) {
		return ctx, nil, failure.New(failure.Internal, "a task has %d tensors and the bytes of %d", len(t.GetPool().GetInputs()), len(t.GetPool().GetRawInputContents()))
	}
	return ctx, t, nil
}

// ErrLost means that tensors between two steps are gone, and with them this run of
// the item: it has to be started again.
var ErrLost = errors.New("the tensors between two steps are gone")

// Request is the request of the task's step. Tensors that lie in the object store
// are fetched. ErrLost says that the run is lost; NotFound that what the caller
// uploaded is gone.
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
			return gone(blob, err)
		}
		t.Pool.RawInputContents[i] = data
		if blob.GetBucket() == stream.Tensors {
			t.used = append(t.used, blob)
		}
	}
	t.Blobs = nil
	return nil
}

// gone says what it means that a blob can't be had.
func gone(blob *pb.Blob, err error) error {
	kind := failure.KindOf(err)
	if kind != failure.NotFound && kind != failure.Conflict {
		return err
	}
	switch blob.GetBucket() {
	case stream.Tensors:
		return failure.Wrap(errors.Join(ErrLost, err), failure.Unavailable, "the tensors between two steps are gone")
	case stream.Blobs:
		return failure.Wrap(err, failure.Internal, "the input of the item is gone")
	default:
		return err
	}
}

// Done forgets what only the task needed, once what follows from it is stored.
func (s *Store) Done(ctx context.Context, t *Task) error {
	var failed error
	for _, blob := range t.used {
		failed = errors.Join(failed, s.conn.Drop(ctx, stream.Tensors, blob.GetKey()))
	}
	return failed
}

// Enqueue puts a task into its model's queue, which is made if it is not there. A
// full queue is Busy. The same task again, by its job, item, step and attempt, is
// stored once.
func (s *Store) Enqueue(ctx context.Context, t *Task) error {
	if err := s.fit(ctx, t); err != nil {
		return err
	}
	level := stream.Level(call.Of(ctx).Priority)
	subject := stream.StepSubject(t.Model(), level, t.GetJob(), t.GetItem(), t.GetStep())
	h := t.headers(ctx)
	id := fmt.Sprintf("%s:%d:%d:%d", t.GetJob(), t.GetItem(), t.GetStep(), t.GetAttempt())
	send := func() (bool, error) {
		return s.send(ctx, subject, h, t.Task, jetstream.WithMsgID(id), jetstream.WithExpectStream(stream.StepStream(t.Model())))
	}
	duplicate, err := send()
	if duplicate {
		// Another run of the step has put the task there, with tensors of its own. Those
		// that can't be deleted now expire.
		for _, blob := range t.GetBlobs() {
			_ = s.conn.Drop(ctx, stream.Tensors, blob.GetKey())
		}
		return nil
	}
	if failure.KindOf(err) != failure.Unavailable && failure.KindOf(err) != failure.NotFound || s.conn.Ready() != nil {
		return err
	}
	// No server answers for a subject that no stream has: nobody has served the
	// model yet, or its queue was in the memory of a server that has gone.
	if err := s.conn.EnsureModel(ctx, t.Model()); err != nil {
		return err
	}
	_, err = send()
	return err
}

// fit moves tensors into the object store until the task fits into a message, the
// largest first.
func (s *Store) fit(ctx context.Context, t *Task) error {
	most := int(s.conn.MaxPayload()) - stream.HeaderRoom
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
		// A step that is run twice gives the same but for its last bits: neither may
		// write over the other's.
		key := fmt.Sprintf("%s/%d/%d/%d/%s/%s", t.GetJob(), t.GetItem(), t.GetAttempt(), t.GetStep(), name, nuid.Next())
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
