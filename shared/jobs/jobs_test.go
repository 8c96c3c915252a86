package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/oip"
	"triptych/shared/stream"
	"triptych/shared/testkit/natstest"
)

func tensor(name string) *inference.ModelInput {
	return &inference.ModelInput{Name: name, DataType: inference.DataType_TYPE_UINT8, Dims: []int64{-1}}
}

func output(name string) *inference.ModelOutput {
	return &inference.ModelOutput{Name: name, DataType: inference.DataType_TYPE_UINT8, Dims: []int64{-1}}
}

func step(model string, in, out map[string]string) *inference.ModelEnsembling_Step {
	return &inference.ModelEnsembling_Step{ModelName: model, ModelVersion: -1, InputMap: in, OutputMap: out}
}

// fork is a graph of two branches that meet in the answer.
func fork(t *testing.T) []byte {
	t.Helper()
	cfg := &inference.ModelConfig{
		Name: "fork", Platform: "ensemble", Input: []*inference.ModelInput{tensor("IN")}, Output: []*inference.ModelOutput{output("A"), output("B")},
		SchedulingChoice: &inference.ModelConfig_EnsembleScheduling{EnsembleScheduling: &inference.ModelEnsembling{Step: []*inference.ModelEnsembling_Step{
			step("a", map[string]string{"x": "IN"}, map[string]string{"y": "A"}), step("b", map[string]string{"x": "IN"}, map[string]string{"y": "B"}),
		}}},
	}
	data, err := jobs.PlanOf(cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func begun(t *testing.T, store *jobs.Store, plan []byte, size int) *jobs.Task {
	t.Helper()
	compiled, err := store.Plan(plan)
	if err != nil {
		t.Fatal(err)
	}
	req := &inference.ModelInferRequest{Id: "7", Parameters: oip.Parameters{"top_k": oip.Int64(3)}}
	oip.AddInput(req, oip.Tensor{Name: "IN", Datatype: "UINT8", Shape: []int64{int64(size)}, Data: make([]byte, size)})
	return &jobs.Task{Task: &pb.Task{Job: "j", Item: 1, Plan: plan, Pool: req, Attempt: 1}, Plan: compiled, Deadline: time.Now().Add(time.Hour).Truncate(time.Millisecond)}
}

// taken is the task that waits for a model.
func taken(t *testing.T, store *jobs.Store, model string) *jobs.Task {
	t.Helper()
	s, err := store.Connection().JetStream().Stream(t.Context(), stream.StepStream(model))
	if err != nil {
		t.Fatal(err)
	}
	msg, err := s.GetMsg(t.Context(), s.CachedInfo().State.LastSeq)
	if err != nil {
		t.Fatal(err)
	}
	_, task, err := store.ReadTask(t.Context(), msg.Header, msg.Data)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func gave(values ...byte) *inference.ModelInferResponse {
	resp := &inference.ModelInferResponse{}
	oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "UINT8", Shape: []int64{int64(len(values))}, Data: values})
	return resp
}

// A task that travels is the same where it arrives, whether its tensors lie in the
// message or beside it. What lies beside it is dropped when it is done; who comes
// later learns that the run is lost.
func TestTaskTravels(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "large": 3 << 20} {
		t.Run(name, func(t *testing.T) {
			store := natstest.Store(t, natstest.Server(t))
			sent := begun(t, store, fork(t), size)
			if err := store.Begin(t.Context(), sent); err != nil {
				t.Fatal(err)
			}
			first, late := taken(t, store, "a"), taken(t, store, "a")
			if !first.Deadline.Equal(sent.Deadline) || first.Model() != "a" {
				t.Errorf("deadline %s, model %s", first.Deadline, first.Model())
			}
			req, err := store.Request(t.Context(), first)
			if err != nil {
				t.Fatal(err)
			}
			if x, ok := oip.Input(req, "x"); !ok || len(x.Data) != size || req.GetId() != "7" || req.GetParameters()["top_k"] == nil {
				t.Errorf("got %d bytes, %v", len(x.Data), req.GetParameters())
			}
			if err := store.Done(t.Context(), first); err != nil {
				t.Error(err)
			}
			_, err = store.Request(t.Context(), late)
			if lost := errors.Is(err, jobs.ErrLost); lost != (size > 1<<20) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Inputs that are gone are somebody's fault: ours, or the uploader's.
func TestGoneInputs(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	for bucket, want := range map[string]failure.Kind{stream.Blobs: failure.Internal, stream.Uploads: failure.NotFound, stream.Tensors: failure.Unavailable} {
		task := begun(t, store, fork(t), 0)
		task.Blobs = map[string]*pb.Blob{"IN": {Bucket: bucket, Key: "nothing", Size: 1}}
		if _, err := store.Request(t.Context(), task); failure.KindOf(err) != want {
			t.Errorf("%s: %v, want %s", bucket, err, want)
		}
	}
}

// Whoever comes last at a join goes on, also when both come last; done again, a step
// changes nothing. The parts are gone afterwards.
func TestJoin(t *testing.T) {
	for range 10 {
		store := natstest.Store(t, natstest.Server(t))
		if err := store.Begin(t.Context(), begun(t, store, fork(t), 10)); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		advance := func(model string, value byte) {
			group.Go(func() {
				task := taken(t, store, model)
				if _, err := store.Request(t.Context(), task); err != nil {
					t.Error(err)
				}
				if err := store.Advance(t.Context(), task, gave(value)); err != nil {
					t.Error(err)
				}
			})
		}
		advance("a", 1)
		advance("b", 2)
		group.Wait()
		v, sequence, err := store.Verdict(t.Context(), "j", 1)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := oip.Output(v.GetResponse(), "A")
		b, _ := oip.Output(v.GetResponse(), "B")
		if v.GetOutcome() != pb.Outcome_OUTCOME_SUCCEEDED || a.Data[0] != 1 || b.Data[0] != 2 {
			t.Fatalf("got %v", v)
		}
		advance("a", 3)
		group.Wait()
		if _, again, err := store.Verdict(t.Context(), "j", 1); err != nil || again != sequence {
			t.Errorf("another verdict: %d, %v", again, err)
		}
	}
}

// A dead letter is there if and only if the verdict is dead, whoever was interrupted.
func TestDeadLetters(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	dead := func(item uint32) *pb.Verdict {
		return &pb.Verdict{Job: "j", Item: item, Outcome: pb.Outcome_OUTCOME_DEAD, Error: &pb.Error{Kind: "INTERNAL", Message: "broken"}}
	}
	letter := func(item uint32) bool {
		t.Helper()
		_, err := store.Dead(t.Context(), "j", item)
		if err != nil && failure.KindOf(err) != failure.NotFound {
			t.Fatal(err)
		}
		return err == nil
	}
	// Killed between verdict and letter.
	if won, err := store.Decide(t.Context(), dead(1), 0); !won || err != nil {
		t.Fatal(won, err)
	}
	if letter(1) {
		t.Error("a letter out of nothing")
	}
	if err := store.Bury(t.Context(), dead(1), 0); err != nil || !letter(1) {
		t.Errorf("not repaired: %v", err)
	}
	// Too late: the item has succeeded.
	if _, err := store.Decide(t.Context(), &pb.Verdict{Job: "j", Item: 2, Outcome: pb.Outcome_OUTCOME_SUCCEEDED}, 0); err != nil {
		t.Fatal(err)
	}
	if err := store.Bury(t.Context(), dead(2), 0); err != nil || letter(2) {
		t.Errorf("a letter of an item that succeeded: %v", err)
	}
	// Put back, and then an old worker comes late.
	if err := store.Requeue(t.Context(), "j", 1); err != nil || letter(1) {
		t.Errorf("the letter stays: %v", err)
	}
	if err := store.Bury(t.Context(), dead(1), 0); err != nil || letter(1) {
		t.Errorf("an old worker brings the letter back: %v", err)
	}
	fence, decided, err := store.Fence(t.Context(), "j", 1)
	if err != nil || decided || fence == 0 {
		t.Errorf("fence %d, %t, %v", fence, decided, err)
	}
	if v, err := store.Decided(t.Context(), "j", 1, fence); v != nil || err != nil {
		t.Errorf("a run of the present start counts for nothing: %v, %v", v, err)
	}
	if v, err := store.Decided(t.Context(), "j", 1, 0); v.GetOutcome() != pb.Outcome_OUTCOME_REQUEUED || err != nil {
		t.Errorf("a run of an old start counts: %v, %v", v, err)
	}
	if err := store.Bury(t.Context(), dead(1), fence); err != nil || !letter(1) {
		t.Errorf("the second death has no letter: %v", err)
	}
	// Put back by somebody who was killed before the letter went.
	_, sequence, err := store.Verdict(t.Context(), "j", 1)
	if err != nil {
		t.Fatal(err)
	}
	if won, err := store.Decide(t.Context(), &pb.Verdict{Job: "j", Item: 1, Outcome: pb.Outcome_OUTCOME_REQUEUED}, sequence); !won || err != nil {
		t.Fatal(won, err)
	}
	if err := store.Requeue(t.Context(), "j", 1); failure.KindOf(err) != failure.Conflict || letter(1) {
		t.Errorf("an item on its way has a letter that nobody can get rid of: %v", err)
	}
	// Purged: it stays so, whoever looks for letters that are missing.
	if err := store.Bury(t.Context(), dead(3), 0); err != nil {
		t.Fatal(err)
	}
	if err := store.PurgeDead(t.Context(), "j", 3); err != nil || letter(3) {
		t.Errorf("not purged: %v", err)
	}
	if err := store.RepairDead(t.Context(), "j", 3); err != nil || letter(3) {
		t.Errorf("the purged letter is back: %v", err)
	}
	for what, do := range map[string]func(context.Context, string, uint32) error{"purged": store.PurgeDead, "put back": store.Requeue} {
		if err := do(t.Context(), "j", 3); failure.KindOf(err) != failure.Conflict {
			t.Errorf("a purged item is %s: %v", what, err)
		}
	}
}

// Notes are of one message: another of the same task begins anew.
func TestNotes(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	task := begun(t, store, fork(t), 1)
	want := &pb.Note{Attempt: 1, Sequence: 5, Excused: 2, Failed: 1, Error: &pb.Error{Kind: "INTERNAL", Message: "broken"}}
	change := func(name string, do func(*pb.Note)) {
		t.Helper()
		if err := store.ChangeNote(t.Context(), task, 5, name, do); err != nil {
			t.Fatal(err)
		}
	}
	excuse := func(n *pb.Note) { n.Excused++ }
	change("1.excused", excuse)
	change("1.excused", excuse) // it is not known whether it was stored
	var both sync.WaitGroup
	both.Go(func() { change("2.excused", excuse) })
	both.Go(func() { change("3.failed", func(n *pb.Note) { n.Failed, n.Error = n.Failed+1, want.GetError() }) })
	both.Wait()
	for _, c := range []struct {
		attempt  uint32
		sequence uint64
		want     *pb.Note
	}{{1, 5, want}, {1, 6, &pb.Note{Attempt: 1, Sequence: 6}}, {2, 5, &pb.Note{Attempt: 2, Sequence: 5}}} {
		task.Attempt = c.attempt
		got, err := store.Note(t.Context(), task, c.sequence)
		if diff := cmp.Diff(c.want, got, protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("%v: %s", err, diff)
		}
	}
}

// That a stream is not there does not mean that what it had is decided or not.
func TestNoStream(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	look := func() error { _, _, err := store.Verdict(t.Context(), "j", 0); return err }
	if err := look(); failure.KindOf(err) != failure.NotFound {
		t.Errorf("got %v", err)
	}
	if err := store.Connection().JetStream().DeleteStream(t.Context(), stream.Verdicts); err != nil {
		t.Fatal(err)
	}
	if err := look(); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("got %v", err)
	}
	if err := store.Connection().Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := look(); failure.KindOf(err) != failure.NotFound {
		t.Errorf("got %v", err)
	}
}

// Nor does the lack of the bucket, or of the inputs, mean that there is nothing of a job.
func TestNoBucket(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	js := store.Connection().JetStream()
	if err := errors.Join(js.DeleteKeyValue(t.Context(), stream.Records), js.DeleteStream(t.Context(), stream.Inputs)); err != nil {
		t.Fatal(err)
	}
	job := func() error { _, err := store.Job(t.Context(), "j"); return err }
	inputs := func() error {
		_, err := store.Subjects(t.Context(), stream.Inputs, stream.InputSubject("j", "*"))
		return err
	}
	for range 2 {
		if err := job(); failure.KindOf(err) != failure.Unavailable {
			t.Errorf("the record: got %v", err)
		}
		if err := inputs(); failure.KindOf(err) != failure.Unavailable {
			t.Errorf("the inputs: got %v", err)
		}
		if err := store.Connection().Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := job(); failure.KindOf(err) != failure.NotFound {
			t.Errorf("the record: got %v", err)
		}
		if err := inputs(); err != nil {
			t.Errorf("the inputs: got %v", err)
		}
		// Again, now that both are known.
		if err := errors.Join(js.DeleteKeyValue(t.Context(), stream.Records), js.DeleteStream(t.Context(), stream.Inputs)); err != nil {
			t.Fatal(err)
		}
	}
}

// Records change by compare-and-set: nobody's change is lost.
func TestRecords(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	if err := store.Create(t.Context(), &pb.Job{Id: "j"}); err != nil {
		t.Fatal(err)
	}
	if err := store.Create(t.Context(), &pb.Job{Id: "j"}); failure.KindOf(err) != failure.Conflict {
		t.Errorf("a job is created twice: %v", err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				for {
					_, err := store.Update(context.Background(), "j", func(j *pb.Job) error { j.Items++; return nil })
					if err == nil {
						break
					}
					if failure.KindOf(err) != failure.Unavailable {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	job, err := store.Job(t.Context(), "j")
	if err != nil || job.GetItems() != 20 {
		t.Errorf("%d changes of 20, %v", job.GetItems(), err)
	}
	for _, id := range []string{"k", "no id", "a.b", ""} {
		if _, err := store.Job(t.Context(), id); failure.KindOf(err) != failure.NotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// An id of any length is unknown, and does the connection no harm.
func TestLongID(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	for _, length := range []int{0, 1, 64, 65, 4030, 1 << 20} {
		if _, err := store.Job(t.Context(), strings.Repeat("x", length)); failure.KindOf(err) != failure.NotFound {
			t.Errorf("an id of %d bytes: %v", length, err)
		}
	}
	if err := store.Connection().Ready(); err != nil {
		t.Error(err)
	}
}
