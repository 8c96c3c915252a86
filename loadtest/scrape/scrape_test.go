package scrape_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"triptych/loadtest/page"
	"triptych/loadtest/scrape"
	"triptych/loadtest/target"
	"triptych/proto/inference"
	"triptych/shared/failure"
)

// server tells statistics that a test sets, by both protocols, and metrics.
type server struct {
	inference.UnimplementedGRPCInferenceServiceServer
	models  atomic.Pointer[[]*inference.ModelStatistics] // nil: no such extension
	metrics atomic.Pointer[string]
	grpc    string
	http    string
}

func start(t *testing.T) *server {
	t.Helper()
	s := &server{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/models/stats", s.restStatistics)
	mux.HandleFunc("GET /v2/models/{model}/versions/{version}/config", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, config(r.PathValue("model")))
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if text := s.metrics.Load(); text != nil {
			_, _ = w.Write([]byte(*text))
			return
		}
		http.NotFound(w, r)
	})
	web := httptest.NewServer(mux)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rpc := grpc.NewServer()
	inference.RegisterGRPCInferenceServiceServer(rpc, s)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := rpc.Serve(listener); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		web.Close()
		rpc.Stop()
		serving.Wait()
	})
	s.grpc, s.http = listener.Addr().String(), web.URL
	return s
}

func (s *server) restStatistics(w http.ResponseWriter, r *http.Request) {
	models := s.models.Load()
	if models == nil {
		http.NotFound(w, r)
		return
	}
	writeJSON(w, &inference.ModelStatisticsResponse{ModelStats: *models})
}

// writeJSON writes a message as Triton does, with a field that we don't know.
func writeJSON(w http.ResponseWriter, m proto.Message) {
	body, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write([]byte(strings.Replace(string(body), "{", `{"unknown": 1, `, 1)))
}

// config is that of a model: chain is an ensemble of two.
func config(model string) *inference.ModelConfig {
	if model != "chain" {
		return &inference.ModelConfig{Name: model}
	}
	return &inference.ModelConfig{
		Name: model, Platform: "ensemble",
		SchedulingChoice: &inference.ModelConfig_EnsembleScheduling{EnsembleScheduling: &inference.ModelEnsembling{
			Step: []*inference.ModelEnsembling_Step{{ModelName: "zero"}, {ModelName: "model"}},
		}},
	}
}

// ModelStatistics implements the service.
func (s *server) ModelStatistics(context.Context, *inference.ModelStatisticsRequest) (*inference.ModelStatisticsResponse, error) {
	models := s.models.Load()
	if models == nil {
		return nil, status.Error(codes.Unimplemented, "no statistics")
	}
	return &inference.ModelStatisticsResponse{ModelStats: *models}, nil
}

// ModelConfig implements the service.
func (s *server) ModelConfig(_ context.Context, req *inference.ModelConfigRequest) (*inference.ModelConfigResponse, error) {
	return &inference.ModelConfigResponse{Config: config(req.GetName())}, nil
}

func (s *server) tell(models ...*inference.ModelStatistics) { s.models.Store(&models) }

func (s *server) tellMetrics(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.metrics.Store(&text)
}

// of is a count of requests with so many milliseconds each.
func of(count, ms uint64) *inference.StatisticDuration {
	return &inference.StatisticDuration{Count: count, Ns: count * ms * 1e6}
}

// stats are those of a model that has answered n requests, in batches of 1 and 4.
func stats(name string, n uint64) *inference.ModelStatistics {
	return &inference.ModelStatistics{
		Name: name, Version: "1", InferenceCount: n, ExecutionCount: n / 2,
		InferenceStats: &inference.InferStatistics{
			Success: of(n, 20), Fail: of(n/10, 1), Queue: of(n, 5), ComputeInput: of(n, 1), ComputeInfer: of(n, 8), ComputeOutput: of(n, 2), CacheHit: of(n/5, 1),
		},
		BatchStats: []*inference.InferBatchStatistics{{BatchSize: 4, ComputeInfer: of(n/8, 8)}, {BatchSize: 1, ComputeInfer: of(n/4, 8)}},
	}
}

func probe(t *testing.T, o target.Options, metrics ...string) *scrape.Probe {
	t.Helper()
	p, err := scrape.New(o, metrics)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func protocols(s *server) map[string]target.Options {
	return map[string]target.Options{
		"gRPC":     {Protocol: target.GRPC, URL: s.grpc},
		"REST":     {Protocol: target.REST, URL: s.http},
		"classify": {Protocol: target.Classify, URL: s.http},
	}
}

func TestUsage(t *testing.T) {
	s := start(t)
	for name, o := range protocols(s) {
		t.Run(name, func(t *testing.T) {
			p := probe(t, o)
			s.tell(stats("model", 80), stats("idle", 40), stats("chain", 80))
			before := p.Read(t.Context())
			s.tell(stats("model", 480), stats("new", 8), stats("idle", 40), stats("zero", 8), stats("chain", 480))
			got := p.Read(t.Context()).Since(before)
			ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
			step := func(name string, n int64, ensemble bool) page.Step {
				return page.Step{
					Model: name, Version: "1", Ensemble: ensemble, Requests: n, Failed: n / 10, CacheHits: n / 5, Inferences: n, Runs: n / 2,
					Queue: ms(5), Compute: ms(11), Total: ms(20),
				}
			}
			want := scrape.Usage{
				Steps: []page.Step{step("chain", 400, true), step("zero", 8, false), step("model", 400, false), step("new", 8, false)},
				Batches: []page.Batches{
					{Model: "model", Version: "1", Sizes: []page.BatchSize{{Size: 1, Count: 100}, {Size: 4, Count: 50}}},
					{Model: "new", Version: "1", Sizes: []page.BatchSize{{Size: 1, Count: 2}, {Size: 4, Count: 1}}},
					{Model: "zero", Version: "1", Sizes: []page.BatchSize{{Size: 1, Count: 2}, {Size: 4, Count: 1}}},
				},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// A model that is loaded again begins to count anew.
func TestReload(t *testing.T) {
	s := start(t)
	p := probe(t, target.Options{Protocol: target.GRPC, URL: s.grpc})
	s.tell(stats("model", 400))
	before := p.Read(t.Context())
	s.tell(stats("model", 80))
	got := p.Read(t.Context()).Since(before)
	if len(got.Steps) != 1 || got.Steps[0].Requests != 80 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "loaded again") {
		t.Errorf("usage %+v", got)
	}
}

func TestNoStatistics(t *testing.T) {
	s := start(t)
	tests := protocols(s)
	tests["nobody"] = target.Options{Protocol: target.GRPC, URL: "127.0.0.1:1"}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			p := probe(t, o)
			got := p.Read(t.Context()).Since(p.Read(t.Context()))
			if len(got.Steps) != 0 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "no statistics") {
				t.Errorf("usage %+v", got)
			}
		})
	}
}

const processMetrics = `# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total %v
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes %v
# TYPE process_start_time_seconds gauge
process_start_time_seconds %v
`

func TestServices(t *testing.T) {
	tests := map[string]struct {
		before, after string
		services      []page.Service
		note          string
	}{
		"a process": {
			fmt.Sprintf(processMetrics, 10, 1000, 5), fmt.Sprintf(processMetrics, 12.5, 1500, 5),
			[]page.Service{{Name: "gateway", CPU: 2500 * time.Millisecond, MemoryBefore: 1000, MemoryAfter: 1500}},
			"",
		},
		"another process":       {fmt.Sprintf(processMetrics, 10, 1000, 5), fmt.Sprintf(processMetrics, 12, 1000, 6), nil, "gateway was started again"},
		"a process of less CPU": {"process_cpu_seconds_total 9\n", "process_cpu_seconds_total 8\n", nil, "gateway was started again"},
		"untyped":               {"process_cpu_seconds_total 9\n", "process_cpu_seconds_total 10\n", []page.Service{{Name: "gateway", CPU: time.Second}}, ""},
		"nothing of processes":  {"nv_inference_count{model=\"a\"} 1\n", "nv_inference_count{model=\"a\"} 1\n", nil, "say nothing of its processor time"},
		"no metrics":            {"{", "{", nil, "can't be read"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			s.tell()
			p := probe(t, target.Options{Protocol: target.GRPC, URL: s.grpc}, "gateway="+s.http+"/metrics")
			s.tellMetrics("%s", test.before)
			before := p.Read(t.Context())
			s.tellMetrics("%s", test.after)
			got := p.Read(t.Context()).Since(before)
			if diff := cmp.Diff(test.services, got.Services); diff != "" {
				t.Errorf("services (-want +got):\n%s", diff)
			}
			if notes := strings.Join(got.Notes, "\n"); (test.note == "") != (notes == "") || !strings.Contains(notes, test.note) {
				t.Errorf("notes %q, want %q", notes, test.note)
			}
		})
	}
}

const admissionMetrics = `# TYPE triptych_admission_wait_seconds histogram
triptych_admission_wait_seconds_bucket{model="chain",le="+Inf"} %[1]d
triptych_admission_wait_seconds_sum{model="chain"} %[2]v
triptych_admission_wait_seconds_count{model="chain"} %[1]d
triptych_admission_wait_seconds_bucket{model="gone",le="+Inf"} 9
triptych_admission_wait_seconds_sum{model="gone"} 9
triptych_admission_wait_seconds_count{model="gone"} 9
`

// The gateway knows how long a request waited before any model was asked.
func TestWaitAtTheGateway(t *testing.T) {
	of := func(count int, seconds, started float64) string {
		return fmt.Sprintf(processMetrics, 1, 1000, started) + fmt.Sprintf(admissionMetrics, count, seconds)
	}
	tests := map[string]struct {
		before, after string
		admitted      int64
		waited        time.Duration
	}{
		"a wait":          {of(100, 1, 5), of(500, 41, 5), 400, 100 * time.Millisecond},
		"none":            {of(100, 1, 5), of(500, 1, 5), 400, 0},
		"the first":       {fmt.Sprintf(processMetrics, 1, 1000, 5), of(50, 5, 5), 50, 100 * time.Millisecond},
		"counted anew":    {of(900, 90, 5), of(50, 5, 5), 50, 100 * time.Millisecond},
		"another process": {of(10, 1, 5), of(50, 5, 6), 0, 0},
		"alone":           {fmt.Sprintf(admissionMetrics, 100, 1.0), fmt.Sprintf(admissionMetrics, 500, 41.0), 400, 100 * time.Millisecond},
		"not told":        {fmt.Sprintf(processMetrics, 1, 1000, 5), fmt.Sprintf(processMetrics, 1, 1000, 5), 0, 0},
		"not a histogram": {"triptych_admission_wait_seconds 5\n", "triptych_admission_wait_seconds 6\n", 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			p := probe(t, target.Options{Protocol: target.GRPC, URL: s.grpc}, "gateway="+s.http+"/metrics")
			s.tell(stats("model", 80), stats("chain", 80))
			s.tellMetrics("%s", test.before)
			before := p.Read(t.Context())
			s.tell(stats("model", 480), stats("chain", 480))
			s.tellMetrics("%s", test.after)
			got := p.Read(t.Context()).Since(before)
			if len(got.Steps) != 2 || got.Steps[0].Admitted != test.admitted || got.Steps[0].Waited != test.waited || got.Steps[1].Admitted != 0 {
				t.Errorf("steps %+v", got.Steps)
			}
		})
	}
}

func TestMetricsThatAreNotThere(t *testing.T) {
	s := start(t)
	s.tell()
	for name, url := range map[string]string{"404": s.http, "nobody": "http://127.0.0.1:1/metrics"} {
		t.Run(name, func(t *testing.T) {
			p := probe(t, target.Options{Protocol: target.GRPC, URL: s.grpc}, url)
			if got := p.Read(t.Context()).Since(p.Read(t.Context())); len(got.Services) != 0 || len(got.Notes) != 1 || !strings.HasPrefix(got.Notes[0], "No metrics of ") {
				t.Errorf("usage %+v", got)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	tests := map[string]struct {
		metrics string
		good    bool
	}{
		"a URL":       {"http://host:8002/metrics", true},
		"a host":      {"http://host:8002", true},
		"a name":      {"gateway=http://host:8002/metrics?a=b", true},
		"a query":     {"http://host:8002/metrics?a=b", true},
		"no scheme":   {"host:8002/metrics", false},
		"other one":   {"ftp://host/metrics", false},
		"nothing":     {"", false},
		"no host":     {"http:///metrics", false},
		"control":     {"http://host\x00", false},
		"a name only": {"gateway=", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := scrape.New(target.Options{Protocol: target.REST}, []string{test.metrics})
			if (err == nil) != test.good || err != nil && failure.KindOf(err) != failure.Invalid {
				t.Fatalf("error %v", err)
			}
			if p != nil {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// What was not asked for is not missed. Nobody listens at these ports of this address.
func TestGuessIsQuiet(t *testing.T) {
	p := probe(t, target.Options{Protocol: target.REST, URL: "http://127.0.0.2:8000"})
	if got := p.Read(t.Context()); strings.Contains(fmt.Sprint(got.Since(got).Notes), "etrics") {
		t.Errorf("notes %q", got.Since(got).Notes)
	}
}

func TestCancelled(t *testing.T) {
	s := start(t)
	s.tell(stats("model", 80))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	p := probe(t, target.Options{Protocol: target.GRPC, URL: s.grpc}, s.http)
	if got := p.Read(ctx).Since(p.Read(ctx)); len(got.Notes) != 2 {
		t.Errorf("usage %+v", got)
	}
}

func TestFill(t *testing.T) {
	run := page.Run{Notes: []string{"a"}}
	scrape.Usage{Steps: []page.Step{{Model: "m"}}, Notes: []string{"b"}}.Fill(&run)
	if diff := cmp.Diff(page.Run{Steps: []page.Step{{Model: "m"}}, Notes: []string{"a", "b"}}, run); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
}
