package modelserver_test

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

// batching answers as if requests shared batches: the first value says how many
// executions a request speaks for, the second the batch.
type batching struct{ servertest.Model }

func (b batching) Pending() int { return 5 }

func (b batching) InferTimed(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	x := servertest.Floats(req.GetRawInputContents()[0])
	time.Sleep(10 * time.Millisecond)
	switch x[0] {
	case -1:
		return nil, modelserver.Timing{}, failure.New(failure.Busy, "the queue is full")
	case -2:
		return nil, modelserver.Timing{}, failure.New(failure.Internal, "the session failed")
	case -3:
		return nil, modelserver.Timing{}, context.Canceled
	case -4:
		return nil, modelserver.Timing{}, context.DeadlineExceeded
	}
	resp, err := b.Infer(ctx, req)
	return resp, modelserver.Timing{
		Queue: 2 * time.Millisecond, ComputeInput: time.Millisecond, ComputeInfer: 4 * time.Millisecond, ComputeOutput: 500 * time.Microsecond,
		Batch: int(x[1]), Executions: int(x[0]),
	}, err
}

// counted runs a known sequence of requests in a bubble, where time is exact.
func counted(t *testing.T, check func(t *testing.T, r *modelserver.Registry, tel *telemetry.Telemetry)) {
	t.Helper()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/4/": ""})
	synctest.Test(t, func(t *testing.T) {
		tel := telemetry.Discard()
		r := newRegistryWith(t, tel, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
			time.Sleep(3 * time.Second)
			return batching{servertest.Map(func(x float32) float32 { return x })}, nil
		}))
		s := newService(r)
		for _, values := range [][]float32{
			{1, 3, 0, 0}, {0, 3}, // one batch of three: two of one request, one of another
			{1, 1}, {1, 1}, // two batches of one
			{-1, 0}, {-2, 0}, {-3, 0}, {-4, 0}, // failures
		} {
			resp, err := s.ModelInfer(t.Context(), servertest.Request("m", values...))
			if (err != nil) != (values[0] < 0) {
				t.Errorf("%v gives %v, %v", values, resp, err)
			}
			if err == nil {
				q, c := resp.GetParameters()[modelserver.QueueParameter], resp.GetParameters()[modelserver.ComputeParameter]
				if q.GetInt64Param() != 2000 || c.GetInt64Param() != 5500 {
					t.Errorf("the answer tells of %v and %v", q, c)
				}
			}
		}
		bad := servertest.Request("m", 1, 2)
		bad.Inputs[0].Datatype = "INT8"
		if _, err := s.ModelInfer(t.Context(), bad); err == nil {
			t.Error("a bad request was answered")
		}
		check(t, r, tel)
	})
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	counted(t, func(t *testing.T, r *modelserver.Registry, _ *telemetry.Telemetry) {
		s := newService(r)
		ms := func(count, each uint64) *inference.StatisticDuration {
			return &inference.StatisticDuration{Count: count, Ns: count * each * uint64(time.Microsecond)}
		}
		want := &inference.ModelStatistics{
			Name: "m", Version: "4",
			// The last success was 40 ms before now, in the bubble's time.
			LastInference:  uint64(time.Now().Add(-40 * time.Millisecond).UnixMilli()),
			InferenceCount: 5, ExecutionCount: 3,
			InferenceStats: &inference.InferStatistics{
				Success: ms(4, 10_000), Fail: &inference.StatisticDuration{Count: 5, Ns: uint64(40 * time.Millisecond)},
				Queue: ms(4, 2000), ComputeInput: ms(4, 1000), ComputeInfer: ms(4, 4000), ComputeOutput: ms(4, 500),
				CacheHit: ms(0, 0), CacheMiss: ms(0, 0),
			},
			BatchStats: []*inference.InferBatchStatistics{
				{BatchSize: 1, ComputeInput: ms(2, 1000), ComputeInfer: ms(2, 4000), ComputeOutput: ms(2, 500)},
				{BatchSize: 3, ComputeInput: ms(1, 1000), ComputeInfer: ms(1, 4000), ComputeOutput: ms(1, 500)},
			},
		}
		for _, req := range []*inference.ModelStatisticsRequest{{}, {Name: "m"}, {Name: "m", Version: "4"}} {
			got, err := s.ModelStatistics(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]*inference.ModelStatistics{want}, got.GetModelStats(), protocmp.Transform()); diff != "" {
				t.Errorf("%v: %s", req, diff)
			}
		}
		// They begin anew with the next load, and are gone when it is unloaded.
		if err := r.Unload(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		if err := r.Load(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		got, err := s.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: "m"})
		if err != nil || got.GetModelStats()[0].GetInferenceCount() != 0 {
			t.Errorf("after a reload: %v, %v", got, err)
		}
		if err := r.Unload(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		if got, err := s.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{}); err != nil || len(got.GetModelStats()) != 0 {
			t.Errorf("after an unload: %v, %v", got, err)
		}
	})
}

// series are all samples by name and labels; of histograms the count.
func series(t *testing.T, tel *telemetry.Telemetry) []string {
	t.Helper()
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			lines = append(lines, family.GetName()+"{"+strings.Join(labels, ",")+"} "+strconv.FormatFloat(value, 'g', -1, 64))
		}
	}
	sort.Strings(lines)
	return lines
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	counted(t, func(t *testing.T, r *modelserver.Registry, tel *telemetry.Telemetry) {
		s := newService(r)
		// Names that somebody makes up share one label.
		for i := range 50 {
			name, version := "guess"+strconv.Itoa(i), ""
			if i%2 == 0 {
				name, version = "m", strconv.Itoa(100+i)
			}
			if _, err := s.ModelInfer(t.Context(), &inference.ModelInferRequest{ModelName: name, ModelVersion: version}); failure.KindOf(err) != failure.NotFound {
				t.Errorf("got %v", err)
			}
		}
		want := []string{
			`nv_inference_compute_infer_duration_us{model="m",version="4"} 16000`,
			`nv_inference_compute_input_duration_us{model="m",version="4"} 4000`,
			`nv_inference_compute_output_duration_us{model="m",version="4"} 2000`,
			`nv_inference_count{model="m",version="4"} 5`,
			`nv_inference_exec_count{model="m",version="4"} 3`,
			`nv_inference_first_response_histogram_ms{model="m",version="4"} 4`,
			`nv_inference_pending_request_count{model="m",version="4"} 5`,
			`nv_inference_queue_duration_us{model="m",version="4"} 8000`,
			`nv_inference_request_duration_us{model="m",version="4"} 40000`,
			`nv_inference_request_failure{model="m",reason="BACKEND",version="4"} 1`,
			`nv_inference_request_failure{model="m",reason="CANCELED",version="4"} 1`,
			`nv_inference_request_failure{model="m",reason="OTHER",version="4"} 1`,
			`nv_inference_request_failure{model="m",reason="REJECTED",version="4"} 2`,
			`nv_inference_request_success{model="m",version="4"} 4`,
			`nv_model_load_duration_secs{model="m",version="4"} 3`,
			`triptych_inference_request_duration_seconds{code="BUSY",model="m",version="4"} 1`,
			`triptych_inference_request_duration_seconds{code="CANCELLED",model="m",version="4"} 1`,
			`triptych_inference_request_duration_seconds{code="DEADLINE",model="m",version="4"} 1`,
			`triptych_inference_request_duration_seconds{code="INTERNAL",model="m",version="4"} 1`,
			`triptych_inference_request_duration_seconds{code="INVALID",model="m",version="4"} 1`,
			`triptych_inference_request_duration_seconds{code="NOT_FOUND",model="unknown",version="unknown"} 50`,
			`triptych_inference_request_duration_seconds{code="OK",model="m",version="4"} 4`,
			`triptych_model_load_failed{model="m"} 0`,
			`triptych_model_loads_total{model="m",outcome="ok"} 1`,
			`triptych_model_ready{model="m",version="4"} 1`,
		}
		if diff := cmp.Diff(want, series(t, tel)); diff != "" {
			t.Error(diff)
		}
		if err := r.Unload(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		want = []string{`triptych_inference_request_duration_seconds{code="NOT_FOUND",model="unknown",version="unknown"} 50`}
		if diff := cmp.Diff(want, series(t, tel)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMetricsOfVersions(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": "", "bad/config.pbtxt": doubleConfig})
	tel := telemetry.Discard()
	r := newRegistryWith(t, tel, folder, loading(func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
		if spec.Name() == "bad" {
			return nil, failure.New(failure.Invalid, "model.bin is truncated")
		}
		return servertest.Map(func(x float32) float32 { return x }), nil
	}))
	s := newService(r)
	if _, err := s.ModelInfer(t.Context(), servertest.Request("m", 1, 2)); err != nil {
		t.Fatal(err)
	}
	servertest.Write(t, folder, map[string]string{"m/2/": ""})
	if err := r.Load(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(series(t, tel), "\n")
	if strings.Contains(all, `version="1"} 1`) || strings.Contains(all, `code="OK",model="m",version="1"`) {
		t.Errorf("a version that is gone has series:\n%s", all)
	}
	if !strings.Contains(all, `triptych_model_ready{model="bad",version="1"} 0`) || strings.Contains(all, `nv_inference_count{model="bad"`) {
		t.Errorf("a version that failed has the series:\n%s", all)
	}
	if _, err := modelserver.NewRegistry(nil, tel); err == nil {
		t.Error("two registries share one registry of metrics")
	}
}

// metric_tags are labels of Triton's series, each model's own; model_metrics set the
// buckets of its histogram.
func TestMetricTags(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{
		"plain/config.pbtxt": doubleConfig,
		"m/config.pbtxt": doubleConfig + `metric_tags { key: "team" value: "vision" } metric_tags { key: "cost-center" value: "42" }
			model_metrics { metric_control { metric_identifier { family: "nv_inference_first_response_histogram_ms" } histogram_options { buckets: [ 0.5, 30000 ] } }
				metric_control { metric_identifier { family: "other" } histogram_options { buckets: 1 } } }`,
		"bad/config.pbtxt": doubleConfig + `metric_tags { key: "a-b" value: "" } metric_tags { key: "a.b" value: "" }`,
	})
	tel := telemetry.Discard()
	s := newService(newRegistryWith(t, tel, folder, double))
	for _, name := range []string{"plain", "m"} {
		if _, err := s.ModelInfer(t.Context(), servertest.Request(name, 1, 2)); err != nil {
			t.Fatal(err)
		}
	}
	all := strings.Join(series(t, tel), "\n")
	for _, want := range []string{
		`nv_inference_count{model="plain",version="1"} 1`,
		`nv_inference_count{_cost_center="42",_team="vision",model="m",version="1"} 1`,
		`nv_inference_request_failure{_cost_center="42",_team="vision",model="m",reason="OTHER",version="1"} 0`,
		`nv_inference_first_response_histogram_ms{_cost_center="42",_team="vision",model="m",version="1"} 1`,
		`triptych_model_ready{model="m",version="1"} 1`, `triptych_model_ready{model="bad",version="1"} 0`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() != "nv_inference_first_response_histogram_ms" {
				continue
			}
			var bounds []float64
			for _, b := range m.GetHistogram().GetBucket() {
				bounds = append(bounds, b.GetUpperBound())
			}
			want := []float64{100, 500, 2000, 5000}
			if len(m.GetLabel()) > 2 {
				want = []float64{.5, 30000}
			}
			if diff := cmp.Diff(want, bounds); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// leaving is a model whose callers go while their batch runs: who speaks for it
// says so with the failure.
type leaving struct {
	servertest.Model
	err error
}

func (l leaving) InferTimed(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	return nil, modelserver.Timing{ComputeInfer: time.Second, Batch: 3, Executions: 2}, l.err
}

// An execution whose answer nobody waited for is one; one that failed is not.
func TestExecutionsWithoutAnswer(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig})
	for err, want := range map[error]uint64{
		context.Canceled: 2, context.DeadlineExceeded: 2, failure.New(failure.Internal, "the session failed"): 0, failure.New(failure.Busy, "full"): 0,
	} {
		s := newService(newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) { return leaving{err: err}, nil })))
		if _, got := s.ModelInfer(t.Context(), servertest.Request("m", 1, 2)); failure.KindOf(got) != failure.KindOf(err) {
			t.Errorf("got %v", got)
		}
		resp, failed := s.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: "m"})
		if failed != nil {
			t.Fatal(failed)
		}
		m := resp.GetModelStats()[0]
		if m.GetExecutionCount() != want || m.GetInferenceCount() != 0 || (len(m.GetBatchStats()) == 1) != (want > 0) {
			t.Errorf("%v: got %v", err, m)
		}
	}
}
