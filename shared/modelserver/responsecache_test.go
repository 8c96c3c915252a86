package modelserver_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

// cachedConfig has two inputs, one of them optional, and two outputs.
const cachedConfig = `backend: "double"
max_batch_size: 4
input [ { name: "x" data_type: TYPE_FP32 dims: -1 }, { name: "mask" data_type: TYPE_UINT8 dims: -1 optional: true } ]
output [ { name: "y" data_type: TYPE_FP32 dims: -1 }, { name: "z" data_type: TYPE_FP32 dims: -1 } ]
response_cache { enable: true }
`

// counting is a model that counts its runs: y is x times the factor, z is the number
// of the run.
type counting struct {
	runs   atomic.Int64
	factor float32
	before func(ctx context.Context, req *inference.ModelInferRequest) error // may be nil
}

func (c *counting) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	resp, _, err := c.InferTimed(ctx, req)
	return resp, err
}

func (c *counting) InferTimed(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	run := c.runs.Add(1)
	if c.before != nil {
		if err := c.before(ctx, req); err != nil {
			return nil, modelserver.Timing{Batch: 1, Executions: 1}, err
		}
	}
	x, _ := oip.Input(req, "x")
	values := servertest.Floats(x.Data)
	for i := range values {
		values[i] *= c.factor
	}
	resp := &inference.ModelInferResponse{Parameters: oip.Parameters{"own": oip.Int64(7)}}
	oip.AddOutput(resp, oip.Tensor{Name: "z", Datatype: "FP32", Shape: []int64{x.Shape[0], 1}, Data: servertest.Raw(make([]float32, x.Shape[0])...)})
	copy(resp.RawOutputContents[0], servertest.Raw(float32(run)))
	oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "FP32", Shape: x.Shape, Data: servertest.Raw(values...)})
	return resp, modelserver.Timing{Queue: 2 * time.Millisecond, ComputeInfer: 3 * time.Millisecond, Batch: 1, Executions: 1}, nil
}

func (c *counting) Close() error { return nil }

// cached serves the model m, which caches.
func cached(t *testing.T, m *counting) (*modelserver.Service, *modelserver.Registry, *telemetry.Telemetry) {
	t.Helper()
	m.factor = 2
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": cachedConfig})
	tel := telemetry.Discard()
	r := newRegistryWith(t, tel, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) { return m, nil }))
	return newService(r), r, tel
}

// ask asks for one row and tells where the answer came from.
func ask(t *testing.T, s *modelserver.Service, x ...float32) string {
	t.Helper()
	resp, err := s.ModelInfer(t.Context(), row(x...))
	if err != nil {
		t.Error(err)
		return ""
	}
	if got := servertest.Answer(resp, "y"); len(got) != len(x) || got[0] != 2*x[0] {
		t.Errorf("%v gives %v", x, got)
	}
	return from(resp)
}

func from(resp *inference.ModelInferResponse) string {
	return resp.GetParameters()[modelserver.CacheParameter].GetStringParam()
}

func row(x ...float32) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{ModelName: "m"}
	oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "FP32", Shape: []int64{1, int64(len(x))}, Data: servertest.Raw(x...)})
	return req
}

func stats(t *testing.T, s *modelserver.Service) *inference.ModelStatistics {
	t.Helper()
	resp, err := s.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetModelStats()[0]
}

func TestCacheHit(t *testing.T) {
	t.Parallel()
	m := &counting{}
	s, _, _ := cached(t, m)
	first := row(1, 2)
	first.Id, first.Outputs = "first", outputs("y", "z")
	miss, err := s.ModelInfer(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	// The order of the outputs, the id, the version and the form make no difference.
	second := row(1, 2)
	second.Id, second.ModelVersion, second.Outputs = "second", "1", outputs("z", "y")
	second.RawInputContents = nil
	second.Inputs[0].Contents = &inference.InferTensorContents{Fp32Contents: []float32{1, 2}}
	hit, err := s.ModelInfer(t.Context(), second)
	if err != nil || m.runs.Load() != 1 {
		t.Fatalf("%d runs, %v", m.runs.Load(), err)
	}
	params := func(queue, compute int64, from string) oip.Parameters {
		return oip.Parameters{
			"own": oip.Int64(7), modelserver.CacheParameter: oip.String(from),
			modelserver.QueueParameter: oip.Int64(queue), modelserver.ComputeParameter: oip.Int64(compute),
		}
	}
	want := &inference.ModelInferResponse{ModelName: "m", ModelVersion: "1", Id: "first", Parameters: params(2000, 3000, "miss")}
	oip.AddOutput(want, oip.Tensor{Name: "y", Datatype: "FP32", Shape: []int64{1, 2}, Data: servertest.Raw(2, 4)})
	oip.AddOutput(want, oip.Tensor{Name: "z", Datatype: "FP32", Shape: []int64{1, 1}, Data: servertest.Raw(1)})
	if diff := cmp.Diff(want, miss, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	want = &inference.ModelInferResponse{ModelName: "m", ModelVersion: "1", Id: "second", Parameters: params(0, 0, "hit")}
	want.Outputs = []*inference.ModelInferResponse_InferOutputTensor{
		{Name: "z", Datatype: "FP32", Shape: []int64{1, 1}, Contents: &inference.InferTensorContents{Fp32Contents: []float32{1}}},
		{Name: "y", Datatype: "FP32", Shape: []int64{1, 2}, Contents: &inference.InferTensorContents{Fp32Contents: []float32{2, 4}}},
	}
	if diff := cmp.Diff(want, hit, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func masked(req *inference.ModelInferRequest, mask ...byte) {
	oip.AddInput(req, oip.Tensor{Name: "mask", Datatype: "UINT8", Shape: []int64{1, int64(len(mask))}, Data: mask})
}

func with(key string, p *inference.InferParameter) func(*inference.ModelInferRequest) {
	return func(r *inference.ModelInferRequest) {
		r.Parameters = maps.Clone(r.Parameters)
		if r.Parameters == nil {
			r.Parameters = oip.Parameters{}
		}
		r.Parameters[key] = p
	}
}

func TestCacheKey(t *testing.T) {
	t.Parallel()
	same := func(*inference.ModelInferRequest) {}
	base := func(r *inference.ModelInferRequest) { masked(r, 1, 2) }
	tests := map[string]struct {
		one, other func(*inference.ModelInferRequest)
		hit        bool
	}{
		"nothing":      {same, same, true},
		"id":           {same, func(r *inference.ModelInferRequest) { r.Id = "7" }, true},
		"priority":     {same, with("priority", oip.Int64(1)), true},
		"timeout":      {same, with("timeout", oip.Int64(9_000_000)), true},
		"sequence_id":  {same, with("sequence_id", oip.Int64(1)), true},
		"triton_...":   {same, with("triton_enable_empty_final_response", oip.Bool(true)), true},
		"triptych_...": {same, with("triptych_note", oip.String("a")), true},
		"order of inputs": {base, func(r *inference.ModelInferRequest) {
			masked(r, 1, 2)
			r.Inputs[0], r.Inputs[1] = r.Inputs[1], r.Inputs[0]
			r.RawInputContents[0], r.RawInputContents[1] = r.RawInputContents[1], r.RawInputContents[0]
		}, true},
		"one bit":        {same, func(r *inference.ModelInferRequest) { r.RawInputContents[0][7] ^= 1 }, false},
		"the last byte":  {base, func(r *inference.ModelInferRequest) { masked(r, 1, 3) }, false},
		"one more input": {same, base, false},
		"shape":          {same, func(r *inference.ModelInferRequest) { r.Inputs[0].Shape = []int64{2, 1} }, false},
		"bytes moved":    {base, func(r *inference.ModelInferRequest) { masked(r, 1, 2, 3) }, false},
		"outputs":        {same, func(r *inference.ModelInferRequest) { r.Outputs = outputs("y", "z") }, false},
		"fewer outputs":  {func(r *inference.ModelInferRequest) { r.Outputs = outputs("y", "z") }, func(r *inference.ModelInferRequest) { r.Outputs = outputs("y") }, false},
		"output's parameter": {func(r *inference.ModelInferRequest) { r.Outputs = outputs("y") }, func(r *inference.ModelInferRequest) {
			r.Outputs = outputs("y")
			r.Outputs[0].Parameters = oip.Parameters{"classification": oip.Int64(3)}
		}, false},
		"input's parameter":    {same, func(r *inference.ModelInferRequest) { r.Inputs[0].Parameters = oip.Parameters{"gain": oip.Int64(3)} }, false},
		"parameter":            {same, with("top_k", oip.Int64(3)), false},
		"parameter's value":    {with("top_k", oip.Int64(3)), with("top_k", oip.Int64(4)), false},
		"parameter's name":     {with("top_k", oip.Int64(3)), with("top_l", oip.Int64(3)), false},
		"parameter's type":     {with("top_k", oip.Int64(1)), with("top_k", oip.Bool(true)), false},
		"truth":                {with("a", oip.Bool(false)), with("a", oip.Bool(true)), false},
		"text":                 {with("a", oip.String("b")), with("a", oip.String("c")), false},
		"double":               {with("a", &inference.InferParameter{ParameterChoice: &inference.InferParameter_DoubleParam{DoubleParam: 0.5}}), with("a", &inference.InferParameter{ParameterChoice: &inference.InferParameter_DoubleParam{DoubleParam: 0.25}}), false},
		"uint64":               {with("a", &inference.InferParameter{ParameterChoice: &inference.InferParameter_Uint64Param{Uint64Param: 1}}), with("a", oip.Int64(1)), false},
		"no value":             {with("a", &inference.InferParameter{}), with("a", oip.String("")), false},
		"name and value moved": {with("ab", oip.String("c")), with("a", oip.String("bc")), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := cached(t, &counting{})
			for i, change := range []func(*inference.ModelInferRequest){test.one, test.other} {
				req := row(1, 2)
				change(req)
				resp, err := s.ModelInfer(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if want := i == 1 && test.hit; (from(resp) == modelserver.CacheHit) != want {
					t.Errorf("request %d is a %s", i, from(resp))
				}
			}
		})
	}
}

// What one caller does to its answer does not reach the next.
func TestCacheAnswersAreOwn(t *testing.T) {
	t.Parallel()
	s, _, _ := cached(t, &counting{})
	for i := range 4 {
		resp, err := s.ModelInfer(t.Context(), row(1, 2))
		if err != nil {
			t.Fatal(err)
		}
		y, _ := oip.Output(resp, "y")
		if resp.GetId() != "" || len(resp.GetOutputs()) != 2 || y.Name != "y" || y.Shape[1] != 2 || len(y.Data) != 8 || len(resp.GetParameters()) != 4 || y.Parameters != nil {
			t.Errorf("answer %d was touched: %v", i, resp)
		}
		resp.Id, resp.ModelName = "mine", "mine"
		resp.Parameters["mine"] = oip.Bool(true)
		resp.Outputs[1].Name, resp.Outputs[1].Shape[1], resp.Outputs[1].Datatype = "mine", 9, "mine"
		resp.Outputs[1].Parameters = oip.Parameters{"mine": nil}
		resp.RawOutputContents[1] = append(resp.RawOutputContents[1], 1, 2, 3)
		resp.Outputs, resp.RawOutputContents[0] = resp.Outputs[:1], nil
	}
}

// An answer keeps no batch in memory.
func TestCacheKeepsOnlyTheAnswer(t *testing.T) {
	t.Parallel()
	batch := make([]byte, 1<<20)
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig + "response_cache { enable: true }"})
	s := newService(newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return servertest.Model{OnInfer: func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			resp := &inference.ModelInferResponse{}
			oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "FP32", Shape: []int64{1, 2}, Data: batch[:8]})
			return resp, nil
		}}, nil
	})))
	for range 2 {
		resp, err := s.ModelInfer(t.Context(), servertest.Request("m", 1, 2))
		if err != nil {
			t.Fatal(err)
		}
		if data := resp.GetRawOutputContents()[0]; from(resp) == modelserver.CacheHit && (cap(data) != 8 || &data[0] == &batch[0]) {
			t.Errorf("the answer is kept with %d bytes", cap(data))
		}
	}
}

func TestCacheKeepsNoFailure(t *testing.T) {
	t.Parallel()
	m := &counting{before: func(context.Context, *inference.ModelInferRequest) error {
		return failure.New(failure.Internal, "the session failed")
	}}
	s, _, _ := cached(t, m)
	for i := range 3 {
		if _, err := s.ModelInfer(t.Context(), row(1, 2)); failure.Message(err) != "the session failed" || m.runs.Load() != int64(i+1) {
			t.Errorf("%d runs, %v", m.runs.Load(), err)
		}
	}
	m.before = nil
	if got := ask(t, s, 1, 2) + ask(t, s, 1, 2); got != "misshit" {
		t.Errorf("got %s", got)
	}
}

// What is no whole answer is not kept either.
func TestCacheKeepsNoBrokenAnswer(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig + "response_cache { enable: true }"})
	var runs atomic.Int64
	s := newService(newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return servertest.Model{OnInfer: func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			runs.Add(1)
			return failing(ctx, req)
		}}, nil
	})))
	for value, message := range map[float32]string{
		1: `model "m" broke on this request`, 2: "internal error", 3: `model "m" broke on this request`,
		4: `the model gave no output "y"`, 6: "image 0 is truncated",
	} {
		before := runs.Load()
		for range 2 {
			req := servertest.Request("m", value, 0)
			req.Outputs = outputs("y")
			if resp, err := s.ModelInfer(t.Context(), req); err == nil || failure.Message(err) != message {
				t.Errorf("%v gives %v, %v", value, resp, err)
			}
		}
		if n := runs.Load() - before; n != 2 {
			t.Errorf("%v was run %d times", value, n)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	m := &counting{}
	s, r, tel := cached(t, m)
	long := make([]float32, 1000) // an answer of 4 kB and what it takes beside
	for i := range 40 {
		long[0] = float32(i)
		ask(t, s, long...)
	}
	value := func(name string) (v int) {
		for _, line := range series(t, tel) {
			if strings.HasPrefix(line, name+"{") {
				fmt.Sscan(line[strings.Index(line, "} ")+2:], &v)
			}
		}
		return v
	}
	if n := value("triptych_response_cache_entries"); n != 40 {
		t.Errorf("%d answers are kept", n)
	}
	each := value("triptych_response_cache_bytes") / 40
	if each < 4000 || each > 6000 {
		t.Errorf("an answer of 4 kB takes %d", each)
	}
	r.LimitResponseCache(int64(10*each + each/2))
	if n := value("triptych_response_cache_entries"); n != 10 || value("triptych_response_cache_evictions_total") != 30 {
		t.Errorf("%d answers are kept after %d evictions", n, value("triptych_response_cache_evictions_total"))
	}
	// What was used last stays.
	long[0] = 30
	if got := ask(t, s, long...); got != "hit" {
		t.Errorf("the oldest kept is a %s", got)
	}
	long[0] = 41
	ask(t, s, long...)
	long[0] = 30
	kept := ask(t, s, long...)
	long[0] = 31
	if gone := ask(t, s, long...); kept != "hit" || gone != "miss" {
		t.Errorf("used last is a %s, not used is a %s", kept, gone)
	}
	if b := value("triptych_response_cache_bytes"); b > 10*each+each/2 {
		t.Errorf("%d bytes are kept", b)
	}
	// One that is larger than all the room takes nobody's.
	if got := ask(t, s, make([]float32, 20_000)...) + ask(t, s, make([]float32, 20_000)...); got != "missmiss" || value("triptych_response_cache_entries") != 10 {
		t.Errorf("a large one is %s, %d are kept", got, value("triptych_response_cache_entries"))
	}
	r.LimitResponseCache(0)
	if got := ask(t, s, long...) + ask(t, s, long...); got != "missmiss" || value("triptych_response_cache_bytes") != 0 {
		t.Errorf("without room: %s, %d bytes", got, value("triptych_response_cache_bytes"))
	}
}

// Models share the room, and nothing of an old version is left after a reload.
func TestCacheEndsWithTheVersion(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": cachedConfig, "other/config.pbtxt": cachedConfig})
	var factor atomic.Int64
	factor.Store(2)
	tel := telemetry.Discard()
	r := newRegistryWith(t, tel, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return &counting{factor: float32(factor.Load())}, nil
	}))
	s := newService(r)
	if got := ask(t, s, 1, 2) + ask(t, s, 1, 2); got != "misshit" {
		t.Errorf("got %s", got)
	}
	other := row(1, 2)
	other.ModelName = "other"
	if resp, err := s.ModelInfer(t.Context(), other); err != nil || from(resp) != modelserver.CacheMiss {
		t.Errorf("another model's answer: %v, %v", resp, err)
	}
	factor.Store(3)
	rewrite(t, folder, "third")
	if err := r.Load(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	resp, err := s.ModelInfer(t.Context(), row(1, 2))
	if err != nil || from(resp) != modelserver.CacheMiss || servertest.Answer(resp, "y")[0] != 3 {
		t.Errorf("after a reload: %v, %v", resp, err)
	}
	all := strings.Join(series(t, tel), "\n")
	for _, want := range []string{`entries{model="m",version="1"} 1`, `entries{model="other",version="1"} 1`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
	if err := r.Unload(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ModelInfer(t.Context(), row(1, 2)); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("an unloaded model answers: %v", err)
	}
}

// rewrite changes what lies in version 1 of the model m, so that a load is one.
func rewrite(t *testing.T, folder, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, "m", "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "m", "1", "weights"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What a version that is gone had kept takes no room.
func TestCacheGivesRoomBack(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": cachedConfig, "other/config.pbtxt": cachedConfig})
	r := newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) { return &counting{factor: 2}, nil }))
	r.LimitResponseCache(13_000) // two answers
	s := newService(r)
	long := make([]float32, 1000)
	other := func() string {
		req := row(long...)
		req.ModelName = "other"
		resp, err := s.ModelInfer(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return from(resp)
	}
	other()
	for n := range 5 {
		if got := ask(t, s, long...); got != "miss" {
			t.Errorf("got a %s", got)
		}
		rewrite(t, folder, strconv.Itoa(n))
		if err := r.Load(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
	}
	if got := other(); got != "hit" {
		t.Errorf("another model's answer had to go: %s", got)
	}
}

// An ensemble's answers would outlive its steps' versions.
func TestCacheOfAnEnsemble(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": strings.Replace(cachedConfig, `backend: "double"`, `platform: "ensemble"`, 1) +
		`ensemble_scheduling { step { model_name: "step" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } } }`})
	m := &counting{factor: 2}
	s := newService(newRegistry(t, folder, servertest.Backend{Kind: "ensemble", OnLoad: func(context.Context, modelserver.Spec) (modelserver.Model, error) { return m, nil }}))
	if got := ask(t, s, 1, 2) + ask(t, s, 1, 2); got != "" || m.runs.Load() != 2 {
		t.Errorf("got %q after %d runs", got, m.runs.Load())
	}
}

func TestCacheStatistics(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": cachedConfig})
	synctest.Test(t, func(t *testing.T) {
		tel := telemetry.Discard()
		r := newRegistryWith(t, tel, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
			return &counting{factor: 2, before: func(context.Context, *inference.ModelInferRequest) error {
				time.Sleep(10 * time.Millisecond)
				return nil
			}}, nil
		}))
		s := newService(r)
		var callers sync.WaitGroup
		for range 3 { // one runs, two share it
			callers.Go(func() { ask(t, s, 1, 2) })
		}
		callers.Wait()
		for range 4 {
			ask(t, s, 1, 2)
		}
		ms := func(count, each uint64) *inference.StatisticDuration {
			return &inference.StatisticDuration{Count: count, Ns: count * each * uint64(time.Millisecond)}
		}
		want := &inference.InferStatistics{
			Success: &inference.StatisticDuration{Count: 7, Ns: uint64(30 * time.Millisecond)}, Fail: ms(0, 0),
			Queue: ms(1, 2), ComputeInput: ms(1, 0), ComputeInfer: ms(1, 3), ComputeOutput: ms(1, 0),
			CacheHit: ms(4, 0), CacheMiss: ms(1, 0), // to look something up takes no time in a bubble
		}
		got := stats(t, s)
		if diff := cmp.Diff(want, got.GetInferenceStats(), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if got.GetInferenceCount() != 1 || got.GetExecutionCount() != 1 || got.GetLastInference() != uint64(time.Now().UnixMilli()) {
			t.Errorf("got %v", got)
		}
		all := strings.Join(series(t, tel), "\n")
		for _, want := range []string{
			`nv_cache_num_hits_per_model{model="m",version="1"} 4`, `nv_cache_num_misses_per_model{model="m",version="1"} 1`,
			`nv_cache_hit_duration_per_model{model="m",version="1"} 0`, `nv_cache_miss_duration_per_model{model="m",version="1"} 0`,
			`triptych_coalesced_total{model="m",version="1"} 2`, `triptych_response_cache_entries{model="m",version="1"} 1`,
			`triptych_response_cache_evictions_total{model="m",version="1"} 0`,
			`nv_inference_request_success{model="m",version="1"} 7`, `nv_inference_count{model="m",version="1"} 1`,
		} {
			if !strings.Contains(all, want) {
				t.Errorf("no %s in\n%s", want, all)
			}
		}
	})
}

// Times of the cache are those of looking up, and of keeping.
func TestCacheDurations(t *testing.T) {
	t.Parallel()
	s, _, _ := cached(t, &counting{})
	for range 3 {
		ask(t, s, make([]float32, 100_000)...)
	}
	got := stats(t, s).GetInferenceStats()
	if hit, miss := got.GetCacheHit(), got.GetCacheMiss(); hit.GetCount() != 2 || miss.GetCount() != 1 || hit.GetNs() == 0 || miss.GetNs() == 0 {
		t.Errorf("got %v", got)
	}
}
