package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/jobs"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
	"triptych/shared/testkit/servertest"
	"triptych/shared/worker"
)

// sums are models that answer y with the sum of their inputs plus one.
type sums struct{ names []string }

func (s sums) Serving() []string { return s.names }

func (sums) Config(model string) (*inference.ModelConfig, error) {
	return &inference.ModelConfig{Name: model}, nil
}

func (sums) Unwatched() time.Duration { return time.Hour }

func (s sums) ModelInfer(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	sum := float32(1)
	for _, data := range req.GetRawInputContents() {
		sum += servertest.Floats(data)[0]
	}
	resp := &inference.ModelInferResponse{ModelName: req.GetModelName(), ModelVersion: "1"}
	oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "FP32", Shape: []int64{1}, Data: servertest.Raw(sum)})
	return resp, nil
}

const diamond = `name: "graph" input { name: "IN" data_type: TYPE_FP32 dims: 1 } output { name: "OUT" data_type: TYPE_FP32 dims: 1 }
ensemble_scheduling {
  step { model_name: "a" model_version: -1 input_map { key: "x" value: "IN" } output_map { key: "y" value: "s" } }
  step { model_name: "b" model_version: -1 input_map { key: "x" value: "s" } output_map { key: "y" value: "t" } }
  step { model_name: "c" model_version: -1 input_map { key: "x" value: "s" } output_map { key: "y" value: "u" } }
  step { model_name: "d" model_version: -1 input_map [ { key: "p" value: "t" }, { key: "q" value: "u" } ] output_map { key: "y" value: "OUT" } }
}`

func plan(t *testing.T, text string) []byte {
	t.Helper()
	cfg, err := modelconfig.ParseText("config.pbtxt", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Platform = modelconfig.EnsemblePlatform
	data, err := jobs.PlanOf(cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDiamond(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	made, err := worker.New(worker.DefaultConfig(), store, sums{[]string{"a", "b", "c", "d"}}, telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	door := made.Part()
	if err := door.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = door.Stop(context.Background()) })

	data := plan(t, diamond)
	compiled, err := store.Plan(data)
	if err != nil {
		t.Fatal(err)
	}
	pool := &inference.ModelInferRequest{}
	oip.AddInput(pool, oip.Tensor{Name: "IN", Datatype: "FP32", Shape: []int64{1}, Data: servertest.Raw(10)})
	task := &jobs.Task{Task: &pb.Task{Job: "j", Item: 3, Plan: data, Pool: pool, Attempt: 1}, Plan: compiled, Deadline: time.Now().Add(time.Minute)}
	if err := store.Begin(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	var v *pb.Verdict
	testkit.Eventually(t, 10*time.Second, "the item has a verdict", func() bool {
		v, _, err = store.Verdict(t.Context(), "j", 3)
		return err == nil
	})
	out, _ := oip.Output(v.GetResponse(), "OUT")
	if diff := cmp.Diff([]float32{25}, servertest.Floats(out.Data)); diff != "" || v.GetOutcome() != pb.Outcome_OUTCOME_SUCCEEDED {
		t.Errorf("%s: %s %v", v.GetOutcome(), diff, v.GetError())
	}
}
