package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/oip"
	"triptych/shared/stream"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

const ends = `name: "graph" input { name: "IN" data_type: TYPE_FP32 dims: 1 } output { name: "OUT" data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
`

const diamond = ends + `
  step { model_name: "a" model_version: -1 input_map { key: "x" value: "IN" } output_map { key: "y" value: "s" } }
  step { model_name: "b" model_version: -1 input_map { key: "x" value: "s" } output_map { key: "y" value: "t" } }
  step { model_name: "c" model_version: -1 input_map { key: "x" value: "s" } output_map { key: "y" value: "u" } }
  step { model_name: "d" model_version: -1 input_map [ { key: "p" value: "t" }, { key: "q" value: "u" } ] output_map { key: "y" value: "OUT" } }
}`

// Every shape of a graph gives what the sync road gives, and leaves nothing behind.
func TestGraphs(t *testing.T) {
	for name, c := range map[string]struct {
		plan  string
		want  float32 // for 10
		steps int
	}{
		"one step": {ends + `step { model_name: "a" model_version: -1 input_map { key: "x" value: "IN" } output_map { key: "y" value: "OUT" } } }`, 11, 1},
		"diamond":  {diamond, 25, 4},
		"the same model three times, twice beside itself": {ends + `
  step { model_name: "a" model_version: -1 input_map { key: "x" value: "IN" } output_map { key: "y" value: "s" } }
  step { model_name: "a" model_version: -1 input_map { key: "x" value: "IN" } output_map { key: "y" value: "t" } }
  step { model_name: "a" model_version: -1 input_map [ { key: "p" value: "s" }, { key: "q" value: "t" } ] output_map { key: "y" value: "OUT" } } }`, 23, 3},
		"two sinks, of which one is the answer": {ends + `
  step { model_name: "a" model_version: -1 input_map { key: "x" value: "IN" } output_map { key: "y" value: "s" } }
  step { model_name: "b" model_version: -1 input_map { key: "x" value: "s" } output_map { key: "y" value: "OUT" } }
  step { model_name: "c" model_version: -1 input_map { key: "x" value: "s" } output_map { key: "y" value: "nobody" } } }`, 12, 3},
		"an optional input that is not there": {`name: "graph"
input { name: "IN" data_type: TYPE_FP32 dims: 1 } input { name: "MORE" data_type: TYPE_FP32 dims: 1 optional: true } output { name: "OUT" data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: "a" model_version: -1 input_map { key: "x" value: "IN" } output_map { key: "y" value: "s" } }
  step { model_name: "b" model_version: -1 input_map [ { key: "x" value: "s" }, { key: "z" value: "MORE" } ] output_map { key: "y" value: "OUT" } } }`, 12, 2},
	} {
		t.Run(name, func(t *testing.T) {
			store := setup(t, named("a", "b", "c", "d"))
			data := plan(t, c.plan)
			for i := range uint32(5) {
				begin(t, store, item(t, store, data, "j", i, 10))
			}
			for i := range uint32(5) {
				v := gives(t, store, "j", i, c.want)
				if len(v.GetTimes()) != c.steps {
					t.Errorf("times of %d steps: %v", len(v.GetTimes()), v.GetTimes())
				}
			}
			empty(t, store, "a", "b", "c", "d")
			if n := left(t, store, stream.Notes); n != 0 {
				t.Errorf("%d notes are left", n)
			}
		})
	}
}

// Tensors larger than a message take the way through the object store, also where
// branches meet, and so does an answer. None is left there but the answer.
func TestBigTensors(t *testing.T) {
	const many = 600_000 // floats, 2.4 MB
	big := func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		values := servertest.Floats(req.GetRawInputContents()[0])
		all := make([]float32, many)
		for i := range all {
			all[i] = values[0] + float32(i%7)
		}
		return answer(req, all...), nil
	}
	store := setup(t, newModels(map[string]infer{"a": big, "b": big, "c": big, "d": big}))
	begin(t, store, item(t, store, plan(t, diamond), "j", 0, 10))
	v := verdict(t, store, "j", 0)
	if v.GetOutcome() != pb.Outcome_OUTCOME_SUCCEEDED || v.GetResponseBlob().GetSize() < 4*many {
		t.Fatalf("got %s, %v, %v", v.GetOutcome(), v.GetError(), v.GetResponseBlob())
	}
	if _, err := store.Connection().GetBlob(t.Context(), v.GetResponseBlob(), 0); err != nil {
		t.Error(err)
	}
	empty(t, store, "a", "b", "c", "d")
	tensors, err := store.Connection().JetStream().ObjectStore(t.Context(), stream.Tensors)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "no tensors are left", func() bool {
		_, err := tensors.List(t.Context())
		return errors.Is(err, jetstream.ErrNoObjectsFound)
	})
}

// What travels with a request reaches the model; its urgency among requests for
// which somebody waits does not.
func TestTimes(t *testing.T) {
	m := named("b")
	m.set("a", func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		resp := answer(req, 1)
		resp.ModelVersion = "3"
		resp.Parameters = oip.Parameters{"triptych_queue_us": oip.Int64(5), "triptych_compute_us": oip.Int64(7)}
		return resp, nil
	})
	store := setup(t, m)
	begin(t, store, item(t, store, chain(t, "a", "b"), "j", 0, 10))
	v := gives(t, store, "j", 0, 2)
	got := v.GetTimes()
	if len(got) != 2 || got[0].GetVersion() != "3" || got[0].GetQueueUs() != 5 || got[0].GetComputeUs() != 7 || got[1].GetModel() != "b" {
		t.Errorf("times %v", got)
	}
	if v.GetStarted() != 1 || v.GetAttempts() != 0 || time.Since(time.UnixMilli(v.GetAtMs())) > time.Minute {
		t.Errorf("got %v", v)
	}
}

// Two workers with the same item come to one verdict, whoever is first.
func TestVerdictRace(t *testing.T) {
	store := setup(t, named())
	for i := range uint32(20) {
		won := make(chan bool, 2)
		for range 2 {
			go func() {
				v := &pb.Verdict{Job: "j", Item: i, Outcome: pb.Outcome_OUTCOME_SUCCEEDED}
				ok, err := store.Decide(t.Context(), v, 0)
				if err != nil {
					t.Error(err)
				}
				won <- ok
			}()
		}
		if a, b := <-won, <-won; a == b {
			t.Errorf("item %d: won by both or none: %t", i, a)
		}
	}
	if diff := cmp.Diff(uint64(20), left(t, store, stream.Verdicts)); diff != "" {
		t.Error(diff)
	}
}

// An item that is decided is not run again: neither a second run of its last step
// nor one of an earlier step changes anything.
func TestAlreadyDone(t *testing.T) {
	store := setup(t, named("a", "b"), quick)
	task := item(t, store, chain(t, "a", "b"), "j", 0, 10)
	if _, err := store.Decide(t.Context(), &pb.Verdict{Job: "j", Outcome: pb.Outcome_OUTCOME_CANCELLED}, 0); err != nil {
		t.Fatal(err)
	}
	begin(t, store, task)
	empty(t, store, "a", "b")
	if v := verdict(t, store, "j", 0); v.GetOutcome() != pb.Outcome_OUTCOME_CANCELLED {
		t.Errorf("got %s", v.GetOutcome())
	}
}
