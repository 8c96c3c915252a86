package ensemble_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/pipeline"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

// adds answers as a step that adds one, in version 4, with times.
func adds(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	resp, err := servertest.Map(func(x float32) float32 { return x + 1 }).Infer(ctx, req)
	resp.ModelName, resp.ModelVersion = req.GetModelName(), "4"
	resp.Parameters = oip.Parameters{modelserver.QueueParameter: oip.Int64(300), modelserver.ComputeParameter: oip.Int64(2000)}
	return resp, err
}

func TestReadyAndReasons(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config string
		want   string // why not; empty for READY
		kind   failure.Kind
	}{
		"good":     {chain("a", "b"), "", 0},
		"away":     {chain("a", "away", "b"), "step away: predictor:8001 is not available", failure.Unavailable},
		"mismatch": {strings.ReplaceAll(chain("a"), "dims: 2", "dims: 3"), `tensor "x": the ensemble's input gives the shape [-1,3], step a wants [-1,2]`, failure.Unavailable},
		"graph":    {strings.Replace(chain("a", "b"), `value: "after a"`, `value: "nothing"`, 1), `ensemble m: step "b" wants the tensor "after a" for its input "x", but no step gives it and it is no input of the ensemble`, failure.Unavailable},
		"config":   {strings.Replace(chain("a"), "model_version: -1", "", 1), "m/config.pbtxt:6:", failure.Unavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, registry := load(t, &steps{infer: adds, configs: served}, telemetry.Discard(), map[string]string{"m": test.config})
			m := registry.Index(false)[0]
			state := string(modelserver.Unavailable)
			if test.want == "" {
				state = string(modelserver.Ready)
			}
			if m.GetState() != state || !strings.Contains(m.GetReason(), test.want) {
				t.Errorf("got %v, want %s %q", m, state, test.want)
			}
			_, err := service.ModelInfer(t.Context(), servertest.Request("m", 1, 2))
			if (err == nil) != (test.want == "") || (err != nil && (failure.KindOf(err) != test.kind || !strings.Contains(failure.Message(err), test.want))) {
				t.Errorf("infer gives %v", err)
			}
		})
	}
}

// TestVersionOfWhatDoesNotFit asks for the version by number, which does not ask
// first whether it is ready.
func TestVersionOfWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	s := &steps{configs: served, infer: func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		t.Error("a step was called")
		return adds(ctx, req)
	}}
	service, _ := load(t, s, telemetry.Discard(), map[string]string{"m": strings.ReplaceAll(chain("a"), "dims: 2", "dims: 3")})
	req := &inference.ModelInferRequest{ModelName: "m", ModelVersion: "1"}
	oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "FP32", Shape: []int64{1, 3}, Data: servertest.Raw(1, 2, 3)})
	_, err := service.ModelInfer(t.Context(), req)
	want := `ensemble m can't run: tensor "x": the ensemble's input gives the shape [-1,3], step a wants [-1,2]`
	if failure.KindOf(err) != failure.Unavailable || failure.Message(err) != want || failure.RetryAfter(err) == 0 {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestVerdictIsKept(t *testing.T) {
	t.Parallel()
	there := true
	s := &steps{infer: adds, configs: func(name, version string) (*inference.ModelConfig, error) {
		if !there {
			return nil, failure.New(failure.Unavailable, "away")
		}
		return served(name, version)
	}}
	service, registry := load(t, s, telemetry.Discard(), map[string]string{"m": chain("a", "b")})
	if err := registry.Ready(); err != nil {
		t.Fatal(err)
	}
	asked := s.asked.Load()
	for range 10 {
		if _, err := service.ModelInfer(t.Context(), servertest.Request("m", 1, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if s.asked.Load() != asked {
		t.Errorf("steps were asked for %d configurations in one generation", s.asked.Load()-asked)
	}
	there = false
	s.generation.Add(1)
	if registry.Ready() == nil {
		t.Error("a new generation was not noticed")
	}
}

// nested serves ensembles as steps of ensembles: infer and configurations come
// from the registry that the ensembles are in.
func nested(t *testing.T, configs map[string]string) (*modelserver.Service, *modelserver.Registry) {
	t.Helper()
	var service *modelserver.Service
	var registry *modelserver.Registry
	s := &steps{}
	s.infer = func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		if configs[req.GetModelName()] != "" {
			return service.ModelInfer(ctx, req)
		}
		return adds(ctx, req)
	}
	s.configs = func(name, version string) (*inference.ModelConfig, error) {
		if configs[name] != "" && registry != nil {
			return registry.Config(name, version)
		}
		return served(name, version)
	}
	service, registry = load(t, s, telemetry.Discard(), configs)
	return service, registry
}

func TestNested(t *testing.T) {
	t.Parallel()
	service, registry := nested(t, map[string]string{"inner": chain("a", "b"), "outer": chain("inner", "inner2", "c"), "inner2": chain("a")})
	if err := registry.Ready(); err != nil {
		t.Fatal(err)
	}
	resp, err := service.ModelInfer(t.Context(), servertest.Request("outer", 1, 2))
	if err != nil || !slices.Equal(servertest.Answer(resp, "y"), []float32{5, 6}) {
		t.Errorf("got %v, %v", servertest.Answer(resp, "y"), err)
	}
}

func TestCircle(t *testing.T) {
	t.Parallel()
	service, registry := nested(t, map[string]string{
		"ping": chain("pong"), "pong": chain("a", "ping"), "outside": chain("ping"), "fine": chain("a"),
	})
	want := map[string]string{
		"ping":    "ensembles call each other in a circle: ping > pong > ping",
		"pong":    "ensembles call each other in a circle: pong > ping > pong",
		"outside": "ensembles call each other in a circle: outside > ping > pong > ping",
		"fine":    "",
	}
	got := map[string]string{}
	for _, m := range registry.Index(false) {
		got[m.GetName()] = m.GetReason()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, version := range []string{"", "1"} {
		req := servertest.Request("ping", 1, 2)
		req.ModelVersion = version
		if _, err := service.ModelInfer(t.Context(), req); failure.KindOf(err) != failure.Unavailable {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

// TestDepth has more ensembles inside each other than may be.
func TestDepth(t *testing.T) {
	t.Parallel()
	configs := map[string]string{"e9": chain("a")}
	for _, n := range []string{"8", "7", "6", "5", "4", "3", "2", "1"} {
		configs["e"+n] = chain("e" + string(n[0]+1))
	}
	service, _ := nested(t, configs)
	if _, err := service.ModelInfer(t.Context(), servertest.Request("e2", 1, 2)); err != nil {
		t.Errorf("eight deep: %v", err)
	}
	_, err := service.ModelInfer(t.Context(), servertest.Request("e1", 1, 2))
	if failure.KindOf(err) != failure.Internal || !strings.HasSuffix(failure.Message(err), "ensembles call each other more than 8 deep") {
		t.Errorf("nine deep: %v", err)
	}
}

func TestTimings(t *testing.T) {
	t.Parallel()
	service, _ := load(t, &steps{infer: adds, configs: served}, telemetry.Discard(), map[string]string{"m": chain("a", "b")})
	r := &pipeline.Recorder{}
	req := servertest.Request("m", 1, 2, 3, 4, 5, 6)
	resp, err := service.ModelInfer(pipeline.WithRecorder(t.Context(), r), req)
	if err != nil {
		t.Fatal(err)
	}
	if q, c := resp.GetParameters()[modelserver.QueueParameter].GetInt64Param(), resp.GetParameters()[modelserver.ComputeParameter].GetInt64Param(); q != 600 || c != 4000 {
		t.Errorf("queue %d, compute %d", q, c)
	}
	want := []pipeline.StepTiming{
		{Model: "a", Version: "4", Backend: "b-a", Queue: 300 * time.Microsecond, Compute: 2 * time.Millisecond},
		{Model: "b", Version: "4", Backend: "b-b", Queue: 300 * time.Microsecond, Compute: 2 * time.Millisecond},
	}
	if diff := cmp.Diff(want, r.Steps(), cmpopts.IgnoreFields(pipeline.StepTiming{}, "Total")); diff != "" {
		t.Error(diff)
	}
	stats, err := service.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	m := stats.GetModelStats()[0]
	if m.GetInferenceCount() != 3 || m.GetExecutionCount() != 1 || m.GetBatchStats()[0].GetBatchSize() != 3 {
		t.Errorf("got %v", m)
	}
}

// TestBatchOfNone has an ensemble without a batch dimension: its first dimension
// is no batch.
func TestBatchOfNone(t *testing.T) {
	t.Parallel()
	s := &steps{infer: adds, configs: func(name, version string) (*inference.ModelConfig, error) {
		cfg, err := served(name, version)
		cfg.MaxBatchSize = 0
		return cfg, err
	}}
	service, _ := load(t, s, telemetry.Discard(), map[string]string{"m": strings.Replace(chain("a"), "max_batch_size: 8", "", 1)})
	req := &inference.ModelInferRequest{ModelName: "m"}
	oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "FP32", Shape: []int64{2}, Data: servertest.Raw(1, 2)})
	if _, err := service.ModelInfer(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	stats, err := service.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{})
	if err != nil || stats.GetModelStats()[0].GetBatchStats()[0].GetBatchSize() != 1 {
		t.Errorf("got %v, %v", stats, err)
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tel := telemetry.Discard()
	tel.Tracer = provider.Tracer("test")
	s := &steps{configs: served, infer: func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		if req.GetModelName() == "b" && servertest.Floats(req.GetRawInputContents()[0])[0] < 0 {
			return nil, failure.New(failure.Busy, "the queue is full")
		}
		return adds(ctx, req)
	}}
	service, _ := load(t, s, tel, map[string]string{"m": chain("a", "b")})
	for x, want := range map[float32]string{1: "", -10: "the queue is full"} {
		exporter.Reset()
		_, err := service.ModelInfer(t.Context(), servertest.Request("m", x, 0))
		if (err != nil) != (want != "") {
			t.Fatal(err)
		}
		spans := map[string]tracetest.SpanStub{}
		for _, span := range exporter.GetSpans() {
			spans[span.Name] = span
		}
		root := spans["ensemble m"]
		if len(spans) != 3 || root.Parent.IsValid() {
			t.Errorf("got %v", spans)
		}
		for _, name := range []string{"step a", "step b"} {
			span := spans[name]
			if span.Parent.SpanID() != root.SpanContext.SpanID() || span.SpanKind != trace.SpanKindClient {
				t.Errorf("%s has the parent %v and the kind %v", name, span.Parent, span.SpanKind)
			}
			if a := attributes(span); a["server.address"] != "predictor:8001" || a["triptych.model.name"] != name[5:] {
				t.Errorf("%s has %v", name, a)
			}
		}
		if want == "" {
			if attributes(spans["step b"])["triptych.model.version"] != "4" || spans["step b"].Status.Code != codes.Unset || root.Status.Code != codes.Unset {
				t.Errorf("got %v", spans)
			}
			continue
		}
		if got := spans["step b"].Status; got.Code != codes.Error || got.Description != want {
			t.Errorf("step b has the status %v", got)
		}
		if got := root.Status; got.Code != codes.Error || got.Description != "step b: "+want {
			t.Errorf("the ensemble has the status %v", got)
		}
		if spans["step a"].Status.Code != codes.Unset {
			t.Errorf("step a has the status %v", spans["step a"].Status)
		}
	}
}

func attributes(span tracetest.SpanStub) map[string]string {
	m := map[string]string{}
	for _, a := range span.Attributes {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	s := &steps{infer: adds, configs: served}
	service, _ := load(t, s, telemetry.Discard(), map[string]string{"m": chain("a", "b", "c")})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 50 {
				x := float32(i*100 + j)
				s.generation.Add(1) // the verdict is made anew all the time
				resp, err := service.ModelInfer(t.Context(), servertest.Request("m", x, -x))
				if err != nil || !slices.Equal(servertest.Answer(resp, "y"), []float32{x + 3, 3 - x}) {
					t.Errorf("%g gives %v, %v", x, servertest.Answer(resp, "y"), err)
					return
				}
			}
		})
	}
	all.Wait()
}
