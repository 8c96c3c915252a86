package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/pipeline"
	"triptych/shared/testkit/servertest"
)

// request is a request for a plan, with its one input.
func request(x ...float32) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{ModelName: "graph", Id: "the id", Parameters: oip.Parameters{"top_k": oip.Int64(3)}}
	oip.AddInput(req, oip.Tensor{Name: "IN", Datatype: "FP32", Shape: []int64{int64(len(x) / 2), 2}, Data: servertest.Raw(x...)})
	return req
}

// add answers with the sum of all inputs plus n, by element, as "y".
func add(req *inference.ModelInferRequest, n float32) *inference.ModelInferResponse {
	var sum []float32
	for i := range req.GetInputs() {
		values := servertest.Floats(req.GetRawInputContents()[i])
		if sum == nil {
			sum = make([]float32, len(values))
		}
		for j, v := range values {
			sum[j] += v
		}
	}
	for j := range sum {
		sum[j] += n
	}
	resp := &inference.ModelInferResponse{}
	oip.AddOutput(resp, oip.Tensor{Name: "unasked", Datatype: "FP32", Shape: []int64{1}, Data: servertest.Raw(-1)})
	oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "FP32", Shape: req.GetInputs()[0].GetShape(), Data: servertest.Raw(sum...)})
	return resp
}

func TestChain(t *testing.T) {
	t.Parallel()
	var order []string // unguarded: a chain runs on the goroutine of Execute
	resp, err := compile(t, chain).Execute(t.Context(), request(1, 2), func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		order = append(order, req.GetModelName()+"/"+req.GetModelVersion())
		if req.GetId() != "the id" || req.GetParameters()["top_k"].GetInt64Param() != 3 {
			t.Errorf("step %s got the id %q and the parameters %v", req.GetModelName(), req.GetId(), req.GetParameters())
		}
		want := "x"
		if req.GetModelName() == "c" {
			want = "z"
		}
		if len(req.GetInputs()) != 1 || req.GetInputs()[0].GetName() != want || len(req.GetOutputs()) != 1 || req.GetOutputs()[0].GetName() != "y" {
			t.Errorf("step %s got %v", req.GetModelName(), req)
		}
		return add(req, 10), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a/", "b/", "c/7"}, order); diff != "" {
		t.Error(diff)
	}
	if len(resp.GetOutputs()) != 1 || resp.GetOutputs()[0].GetName() != "OUT" {
		t.Errorf("got %v", resp)
	}
	if diff := cmp.Diff([]float32{31, 32}, servertest.Answer(resp, "OUT")); diff != "" {
		t.Error(diff)
	}
}

// TestDiamond runs the two middles side by side: each waits for the other.
func TestDiamond(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	resp, err := compile(t, diamond).Execute(t.Context(), request(1, 2), func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		n := map[string]float32{"top": 10, "left": 100, "right": 1000}[req.GetModelName()]
		if n >= 100 {
			both.Done()
			both.Wait()
		}
		return add(req, n), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// bottom: (1+10+100) + (1+10+1000) + 1
	got := map[string][]float32{"OUT": servertest.Answer(resp, "OUT"), "l": servertest.Answer(resp, "l")}
	if diff := cmp.Diff(map[string][]float32{"OUT": {1123, 1126}, "l": {111, 112}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFailure makes one of two parallel steps fail: the other is cancelled, and
// Execute waits until it has ended.
func TestFailure(t *testing.T) {
	t.Parallel()
	plan := compile(t, diamond)
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		begun := time.Now()
		_, err := plan.Execute(t.Context(), request(1, 2), func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			running.Add(1)
			defer running.Add(-1)
			switch req.GetModelName() {
			case "left":
				time.Sleep(time.Second)
				return nil, &failure.Error{Kind: failure.Busy, Message: "the queue is full", RetryAfter: 7 * time.Second}
			case "right":
				<-ctx.Done()
				time.Sleep(time.Second) // it takes its time to end
				return nil, ctx.Err()
			case "bottom":
				t.Error("bottom ran without its inputs")
			}
			return add(req, 0), nil
		})
		if failure.KindOf(err) != failure.Busy || failure.Message(err) != "step left: the queue is full" || failure.RetryAfter(err) != 7*time.Second {
			t.Errorf("got %s %v, after %s", failure.KindOf(err), err, failure.RetryAfter(err))
		}
		if running.Load() != 0 || time.Since(begun) != 2*time.Second {
			t.Errorf("%d steps run, after %s", running.Load(), time.Since(begun))
		}
	})
}

func TestStepsThatFail(t *testing.T) {
	t.Parallel()
	empty := func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		return &inference.ModelInferResponse{}, nil
	}
	tests := map[string]struct {
		call pipeline.Caller
		kind failure.Kind
		want string
	}{
		"no output": {empty, failure.Internal, `step top: the model gave no output "y"`},
		"nothing": {func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			return nil, nil //nolint:nilnil // a step that breaks its promise
		}, failure.Internal, `step top: the model gave no output "y"`},
		"panic": {func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			panic("secret")
		}, failure.Internal, "step top: internal error"},
		"panic side by side": {func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			if req.GetModelName() == "right" {
				panic("secret")
			}
			return add(req, 0), nil
		}, failure.Internal, "step right: internal error"},
		"a bad image": {func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			return nil, failure.New(failure.BrokenImage, "image 3 is truncated")
		}, failure.BrokenImage, "step top: image 3 is truncated"},
		"a plain error": {func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			return nil, fmt.Errorf("secret")
		}, failure.Internal, "step top: internal error"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := compile(t, diamond).Execute(t.Context(), request(1, 2), test.call)
			if resp != nil || failure.KindOf(err) != test.kind || failure.Message(err) != test.want {
				t.Errorf("got %v, %s %v; want %s %q", resp, failure.KindOf(err), err, test.kind, test.want)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	plan := compile(t, diamond)
	for name, kind := range map[string]failure.Kind{"cancel": failure.Cancelled, "deadline": failure.Deadline} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var calls atomic.Int64
				var done sync.WaitGroup
				done.Go(func() {
					_, err := plan.Execute(ctx, request(1, 2), func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
						calls.Add(1)
						if req.GetModelName() == "top" {
							return add(req, 0), nil
						}
						<-ctx.Done()
						return nil, ctx.Err()
					})
					if failure.KindOf(err) != kind {
						t.Errorf("got %v", err)
					}
				})
				synctest.Wait()
				if kind == failure.Cancelled {
					cancel()
				}
				done.Wait()
				if calls.Load() != 3 {
					t.Errorf("%d calls", calls.Load())
				}
			})
		})
	}
}

func TestOptionalInputLeftOut(t *testing.T) {
	t.Parallel()
	plan := compile(t, in+`input { name: "MORE" data_type: TYPE_FP32 dims: 1 optional: true }`+out+
		steps(`step { model_name: "a" input_map [ { key: "x" value: "IN" }, { key: "more" value: "MORE" } ] output_map { key: "y" value: "OUT" } }`))
	resp, err := plan.Execute(t.Context(), request(1, 2), func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		if len(req.GetInputs()) != 1 || len(req.GetRawInputContents()) != 1 {
			t.Errorf("the step got %v", req)
		}
		return add(req, 1), nil
	})
	if err != nil || !slices.Equal(servertest.Answer(resp, "OUT"), []float32{2, 3}) {
		t.Errorf("got %v, %v", resp, err)
	}
}

func TestRequestsDoNotMix(t *testing.T) {
	t.Parallel()
	plan := compile(t, diamond)
	var requests sync.WaitGroup
	for i := range 32 {
		requests.Go(func() {
			for j := range 100 {
				x := float32(i*1000 + j)
				resp, err := plan.Execute(t.Context(), request(x, -x), func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
					return add(req, 1), nil
				})
				// ((x+1)+1) twice, x, and 1 more
				if want := []float32{3*x + 5, -3*x + 5}; err != nil || !slices.Equal(servertest.Answer(resp, "OUT"), want) {
					t.Errorf("%g gives %v, %v", x, servertest.Answer(resp, "OUT"), err)
					return
				}
			}
		})
	}
	requests.Wait()
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	r := &pipeline.Recorder{}
	ctx := pipeline.WithRecorder(t.Context(), r)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { pipeline.Record(ctx, pipeline.StepTiming{Model: "a", Queue: time.Millisecond}) })
	}
	all.Wait()
	pipeline.Record(t.Context(), pipeline.StepTiming{Model: "nobody listens"})
	got := r.Steps()
	if len(got) != 8 || got[7] != (pipeline.StepTiming{Model: "a", Queue: time.Millisecond}) {
		t.Errorf("got %v", got)
	}
	got[0].Model = "changed"
	if r.Steps()[0].Model != "a" {
		t.Error("the steps are shared")
	}
}

func BenchmarkChain(b *testing.B) {
	plan, req := compile(b, chain), request(1, 2)
	resp := add(req, 0)
	call := func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		return resp, nil
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := plan.Execute(b.Context(), req, call); err != nil {
			b.Fatal(err)
		}
	}
}
