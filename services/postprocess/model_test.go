package postprocess_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/services/postprocess"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

var nan, inf = math.NaN(), math.Inf(1)

func TestInfer(t *testing.T) {
	tests := []struct {
		name   string
		config string
		labels string
		req    *inference.ModelInferRequest
		want   []string
	}{
		{
			"softmax", threeClasses, threeLabels, request(0, math.Log(2), 0),
			[]string{"LABEL BYTES [1,2] bee ant", "SCORE FP32 [1,2] 0.5 0.25", "CLASS INT32 [1,2] 1 0"},
		},
		{
			"batch", threeClasses, threeLabels, request(1, 1, inf, 0, -inf, 0),
			[]string{"LABEL BYTES [2,2] cat ant ant cat", "SCORE FP32 [2,2] 1 0 0.5 0.5", "CLASS INT32 [2,2] 2 0 0 2"},
		},
		{
			"REP-09 sigmoid, other labels", threeClasses + ` parameters [ { key: "activation" value { string_value: "sigmoid" } } ]`, "\ufeffx:1\r\ny, z\r\nÄ\r\n\r\n", request(nan, 0, 60),
			[]string{"LABEL BYTES [1,2] Ä y, z", "SCORE FP32 [1,2] 1 0.5", "CLASS INT32 [1,2] 2 1"},
		},
		{
			"none", threeClasses + ` parameters [ { key: "activation" value { string_value: "none" } } ]`, threeLabels, request(nan, -inf, inf),
			[]string{"LABEL BYTES [1,2] cat bee", "SCORE FP32 [1,2] +Inf -Inf", "CLASS INT32 [1,2] 2 1"},
		},
		{
			"REP-09 labels offset", threeClasses + ` parameters [ { key: "labels_offset" value { string_value: "1" } } ]`, "background\n" + threeLabels, request(0, 90, 0),
			[]string{"LABEL BYTES [1,2] bee ant", "SCORE FP32 [1,2] 1 8.194e-40", "CLASS INT32 [1,2] 1 0"},
		},
		{
			"top_k is free", strings.ReplaceAll(threeClasses, "[ 2 ]", "[ -1 ]"), threeLabels, request(3, 2, 1),
			[]string{"LABEL BYTES [1,3] ant bee cat", "SCORE FP32 [1,3] 0.6652 0.2447 0.09003", "CLASS INT32 [1,3] 0 1 2"},
		},
		{
			"top_k of the model", strings.ReplaceAll(threeClasses, "[ 2 ]", "[ -1 ]") + ` parameters [ { key: "top_k" value { string_value: "1" } } ]`, threeLabels, request(3, 2, 1),
			[]string{"LABEL BYTES [1,1] ant", "SCORE FP32 [1,1] 0.6652", "CLASS INT32 [1,1] 0"},
		},
		{
			"one output", `name: "post" max_batch_size: 4 input [ { name: "logits" data_type: TYPE_FP32 dims: [ 3 ] } ] output [ { name: "best" data_type: TYPE_INT32 dims: [ 1 ] } ]`, "", request(1, 2, 3, 3, 2, 1),
			[]string{"best INT32 [2,1] 2 0"},
		},
		{
			"without a batch dimension", `name: "post" input [ { name: "logits" data_type: TYPE_FP32 dims: [ 1, 3, 1 ] } ] output [ { name: "best" data_type: TYPE_INT32 dims: [ 1, 2 ] } ]`, "", request(1, 2, 3),
			[]string{"best INT32 [1,2] 2 1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := mustLoad(t, tt.config, tt.labels).Infer(t.Context(), tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, text(t, resp)); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInferHalfPrecision(t *testing.T) {
	model := mustLoad(t, strings.Replace(threeClasses, "TYPE_FP32", "TYPE_FP16", 1), threeLabels)
	req := &inference.ModelInferRequest{}
	oip.AddInput(req, oip.Tensor{Name: "logits", Datatype: "FP16", Shape: []int64{1, 3}, Data: []byte{0, 0x7c, 0, 0, 0, 0x3c}})
	resp, err := model.Infer(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"LABEL BYTES [1,2] ant cat", "SCORE FP32 [1,2] 1 0", "CLASS INT32 [1,2] 0 2"}
	if diff := cmp.Diff(want, text(t, resp)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestTopKOfTheRequest(t *testing.T) {
	model, err := loadWith(t, postprocess.Config{MaxTopK: 2}, telemetry.Discard(), threeClasses, threeLabels)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		value *inference.InferParameter
		want  string
		kind  failure.Kind
	}{
		{"one", oip.Int64(1), "CLASS INT32 [1,1] 2", 0},
		{"unsigned", &inference.InferParameter{ParameterChoice: &inference.InferParameter_Uint64Param{Uint64Param: 1}}, "CLASS INT32 [1,1] 2", 0},
		{"REP-09 zero", oip.Int64(0), `parameter "top_k" is 0, must be 1 or more`, failure.Invalid},
		{"negative", oip.Int64(-5), `parameter "top_k" is -5, must be 1 or more`, failure.Invalid},
		{"text", oip.String("3"), `parameter "top_k" must be a whole number`, failure.Invalid},
		{"over the limit", oip.Int64(math.MaxInt64), `parameter "top_k" asks for 3 classes, the server allows 2`, failure.TooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := request(1, 2, 3)
			req.Parameters["top_k"] = tt.value
			resp, err := model.Infer(t.Context(), req)
			if err != nil {
				if failure.KindOf(err) != tt.kind || failure.Message(err) != tt.want {
					t.Errorf("error = %v (%v), want %q (%v)", err, failure.KindOf(err), tt.want, tt.kind)
				}
				return
			}
			if got := text(t, resp)[2]; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTopKBeyondTheClassesIsAll(t *testing.T) {
	req := request(1, 2, 3)
	req.Parameters["top_k"] = oip.Int64(1000)
	resp, err := mustLoad(t, threeClasses, threeLabels).Infer(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, resp)[0], "LABEL BYTES [1,3] cat bee ant"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOnlyWantedOutputs(t *testing.T) {
	req := request(1, 2, 3)
	req.Outputs = []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: "SCORE"}}
	resp, err := mustLoad(t, threeClasses, threeLabels).Infer(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, resp), []string{"SCORE FP32 [1,2] 0.6652 0.2447"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNaNIsRefused(t *testing.T) {
	tests := []struct {
		name string
		req  *inference.ModelInferRequest
		item string
	}{
		{"one NaN", request(1, nan, 3), "item 0"},
		{"all -Inf", request(-inf, -inf, -inf), "item 0"},
		{"in the second of a batch", request(1, 2, 3, nan, 2, 3), "item 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := mustLoad(t, threeClasses, threeLabels).Infer(t.Context(), tt.req)
			want := "the model gave NaN scores for " + tt.item + " of the batch"
			if failure.KindOf(err) != failure.Internal || failure.Message(err) != want {
				t.Errorf("error = %v, want Internal %q", err, want)
			}
		})
	}
}

func TestInferRefusesOtherSizes(t *testing.T) {
	model := mustLoad(t, threeClasses, threeLabels)
	for _, req := range []*inference.ModelInferRequest{{}, request(), request(1, 2), request(1, 2, 3, 4)} {
		if _, err := model.Infer(t.Context(), req); failure.KindOf(err) != failure.Invalid {
			t.Errorf("error = %v, want Invalid", err)
		}
	}
}

func TestInferAfterTheCallerHasGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mustLoad(t, threeClasses, threeLabels).Infer(ctx, request(1, 2, 3)); failure.KindOf(err) != failure.Cancelled {
		t.Errorf("error = %v, want Cancelled", err)
	}
}

func TestTiming(t *testing.T) {
	timed, ok := mustLoad(t, threeClasses, threeLabels).(modelserver.TimedModel)
	if !ok {
		t.Fatal("not a TimedModel")
	}
	_, timing, err := timed.InferTimed(t.Context(), request(1, 2, 3, 4, 5, 6))
	if err != nil || timing.Batch != 2 || timing.Executions != 1 || timing.Queue != 0 || timing.Compute() <= 0 {
		t.Errorf("error %v, timing %+v", err, timing)
	}
}

// Answers belong to the caller: another request must not change them.
func TestConcurrentAnswersAreTheirOwn(t *testing.T) {
	model := mustLoad(t, threeClasses, threeLabels)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			logits := []float64{0, 0, 0}
			logits[worker%3] = 50
			want := []string{"ant", "bee", "cat"}[worker%3]
			var kept []*inference.ModelInferResponse
			for range 200 {
				resp, err := model.Infer(t.Context(), request(logits...))
				if err != nil {
					t.Error(err)
					return
				}
				kept = append(kept, resp)
			}
			for _, resp := range kept {
				tensor, _ := oip.Output(resp, "LABEL")
				if got := strings.Fields(values(t, tensor))[0]; got != want {
					t.Errorf("label %q, want %q", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// The default model turns the log of expected scores back into the expected
// labels.
func TestTheDefaultModel(t *testing.T) {
	dir := testkit.Path(t, "models", "imagenet_postprocess")
	model := loadFrom(t, dir)
	var expected struct {
		Images []struct {
			File string
			Top5 map[string][]struct {
				Class int
				Label string
				Score float64
			}
		}
	}
	data, err := os.ReadFile(testkit.Path(t, "testdata", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	for _, image := range expected.Images {
		logits := slices.Repeat([]float64{-30}, 1000)
		var want []string
		for _, p := range image.Top5["2"] {
			logits[p.Class] = math.Log(p.Score)
			want = append(want, p.Label)
		}
		req := &inference.ModelInferRequest{}
		oip.AddInput(req, oip.Tensor{Name: "logits", Datatype: "FP32", Shape: []int64{1, 1000}, Data: fp32(logits...)})
		resp, err := model.Infer(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		tensor, _ := oip.Output(resp, "LABEL")
		if got := values(t, tensor); got != strings.Join(want, " ") {
			t.Errorf("%s: labels %q, want %q", image.File, got, want)
		}
	}
}
