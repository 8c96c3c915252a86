package rest_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/gateway/internal/fake"
	"triptych/gateway/internal/fronttest"
	"triptych/proto/inference"
	"triptych/shared/failure"
)

func described() *fake.Server {
	d := func(n uint64) *inference.StatisticDuration {
		return &inference.StatisticDuration{Count: n, Ns: n * 1_000_000_007}
	}
	return &fake.Server{
		Models: []fake.Model{fake.Classifier("classify")},
		Statistics: &inference.ModelStatisticsResponse{ModelStats: []*inference.ModelStatistics{
			{
				Name: "classify", Version: "1", LastInference: 1_790_000_000_123, InferenceCount: 9007199254740993, ExecutionCount: 3,
				InferenceStats: &inference.InferStatistics{
					Success: d(1), Fail: d(2), Queue: d(3), ComputeInput: d(4), ComputeInfer: d(5), ComputeOutput: d(6), CacheHit: d(7), CacheMiss: d(8),
				},
				BatchStats:    []*inference.InferBatchStatistics{{BatchSize: 4, ComputeInput: d(1), ComputeInfer: d(2), ComputeOutput: d(3)}},
				MemoryUsage:   []*inference.MemoryUsage{{Type: "CPU", Id: 0, ByteSize: 1024}},
				ResponseStats: map[string]*inference.InferResponseStatistics{"0": {Success: d(1)}},
			},
			{Name: "new", Version: "2"},
		}},
		Index: &inference.RepositoryIndexResponse{Models: []*inference.RepositoryIndexResponse_ModelIndex{
			{Name: "classify", Version: "1", State: "READY"},
			{Name: "bad", Version: "1", State: "UNAVAILABLE", Reason: `no backend "onnxruntim"`},
			{Name: "unseen"},
		}},
	}
}

func TestDescriptions(t *testing.T) {
	s := fronttest.Start(t, described())
	cases := map[string]struct{ method, path string }{
		"server.json":     {http.MethodGet, "/v2"},
		"metadata.json":   {http.MethodGet, "/v2/models/classify"},
		"config.json":     {http.MethodGet, "/v2/models/classify/config"},
		"statistics.json": {http.MethodGet, "/v2/models/stats"},
		"index.json":      {http.MethodPost, "/v2/repository/index"},
		"live.json":       {http.MethodGet, "/v2/health/live"},
		"ready.json":      {http.MethodGet, "/v2/health/ready"},
		"modelready.json": {http.MethodGet, "/v2/models/classify/versions/1/ready"},
	}
	for file, tc := range cases {
		t.Run(file, func(t *testing.T) {
			a := s.Do(tc.method, tc.path, nil)
			if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("status %d, %v: %s", a.Status, a.Header, a.Body)
			}
			golden(t, file, a.Body)
		})
	}
}

func TestVersionsInRoutes(t *testing.T) {
	s := fronttest.Start(t, described())
	for _, suffix := range []string{"", "/config", "/ready", "/stats"} {
		if a := s.Get("/v2/models/classify/versions/1" + suffix); a.Status != http.StatusOK {
			t.Errorf("%q: %d %s", suffix, a.Status, a.Body)
		}
	}
}

func TestStatisticsAsksForOne(t *testing.T) {
	server := described()
	var got []*inference.ModelStatisticsRequest
	server.OnStatistic = func(req *inference.ModelStatisticsRequest) error {
		got = append(got, req)
		if req.GetName() == "other" {
			// As an upstream over gRPC would say it.
			return failure.ToStatus(failure.New(failure.NotFound, "unknown model"))
		}
		return nil
	}
	s := fronttest.Start(t, server)
	s.Get("/v2/models/stats")
	s.Get("/v2/models/classify/stats")
	s.Get("/v2/models/classify/versions/1/stats")
	if a := s.Get("/v2/models/other/stats"); a.Status != http.StatusNotFound {
		t.Errorf("an unknown model: %d", a.Status)
	}
	want := []*inference.ModelStatisticsRequest{{}, {Name: "classify"}, {Name: "classify", Version: "1"}, {Name: "other"}}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

func TestHealthWhenNot(t *testing.T) {
	server := server()
	server.Dead, server.NotReady = true, true
	s := fronttest.Start(t, server)
	for path, body := range map[string]string{
		"/v2/health/live":          "{\"live\":false}\n",
		"/v2/health/ready":         "{\"ready\":false}\n",
		"/v2/models/loading/ready": "{\"name\":\"loading\",\"ready\":false}\n",
	} {
		a := s.Get(path)
		if a.Status != http.StatusServiceUnavailable || string(a.Body) != body || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %q", path, a.Status, a.Body)
		}
	}
	if a := s.Get("/v2/models/nothing/ready"); a.Status != http.StatusNotFound {
		t.Errorf("an unknown model: %d", a.Status)
	}
}

func TestRepositoryControl(t *testing.T) {
	server := described()
	var load *inference.RepositoryModelLoadRequest
	server.OnLoad = func(ctx context.Context, req *inference.RepositoryModelLoadRequest) error {
		if _, bounded := ctx.Deadline(); bounded {
			t.Error("a load has the deadline of a request")
		}
		load = req
		return nil
	}
	var unload *inference.RepositoryModelUnloadRequest
	server.OnUnload = func(req *inference.RepositoryModelUnloadRequest) error {
		unload = req
		return status.Error(codes.Unavailable, "10.0.0.1: connection refused")
	}
	var index []bool
	server.OnIndex = func(req *inference.RepositoryIndexRequest) { index = append(index, req.GetReady()) }
	s := fronttest.Start(t, server)

	a := s.Post("/v2/repository/models/classify/load", []byte(`{"parameters":{"config":"{}","file:1/model.onnx":"AQID","n":3,"b":true,"nothing":null}}`))
	want := &inference.RepositoryModelLoadRequest{ModelName: "classify", Parameters: map[string]*inference.ModelRepositoryParameter{
		"config":            {ParameterChoice: &inference.ModelRepositoryParameter_StringParam{StringParam: "{}"}},
		"file:1/model.onnx": {ParameterChoice: &inference.ModelRepositoryParameter_BytesParam{BytesParam: []byte{1, 2, 3}}},
		"n":                 {ParameterChoice: &inference.ModelRepositoryParameter_Int64Param{Int64Param: 3}},
		"b":                 {ParameterChoice: &inference.ModelRepositoryParameter_BoolParam{BoolParam: true}},
	}}
	if a.Status != http.StatusOK {
		t.Errorf("load: %d %s", a.Status, a.Body)
	}
	if d := cmp.Diff(want, load, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	a = s.Post("/v2/repository/models/classify/unload", []byte(`{"parameters":{"unload_dependents":true}}`))
	if !unload.GetParameters()["unload_dependents"].GetBoolParam() || a.Status != http.StatusServiceUnavailable || a.Failure().Error != "the server is not available" {
		t.Errorf("unload: %v, %d %s", unload, a.Status, a.Body)
	}
	for _, body := range []string{`{"ready":true}`, ` `, `{"ready":null}`} {
		s.Post("/v2/repository/index", []byte(body))
	}
	if d := cmp.Diff([]bool{true, false, false}, index); d != "" {
		t.Error(d)
	}
	for path, body := range map[string]string{
		"/v2/repository/index":                `{"ready":1}`,
		"/v2/repository/models/classify/load": `{"parameters":{"file:x":"%"}}`,
		"/v2/repository/models/other/load":    `[]`,
		"/v2/repository/models/x/unload":      `{"parameters":{"n":1.5}}`,
	} {
		if a := s.Post(path, []byte(body)); a.Status != http.StatusBadRequest {
			t.Errorf("%s with %s: %d %s", path, body, a.Status, a.Body)
		}
	}
}

func TestUnsupportedRoutes(t *testing.T) {
	s := fronttest.Start(t, server())
	for path, method := range map[string]string{
		"/v2/models/floats/generate":                 http.MethodPost,
		"/v2/models/floats/trace/setting":            http.MethodGet,
		"/v2/systemsharedmemory/status":              http.MethodGet,
		"/v2/cudasharedmemory/region/a/register":     http.MethodPost,
		"/v2/repository/other/models/x/load":         http.MethodPost,
		"/v2/repository/other/index":                 http.MethodPost,
		"/v2/logging":                                http.MethodGet,
		"/v2/models/floats/versions/1/trace/setting": http.MethodPost,
	} {
		if a := s.Do(method, path, nil); a.Status != http.StatusNotImplemented || a.Failure().Code != "UNSUPPORTED" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

func TestCausesStayInside(t *testing.T) {
	server := described()
	server.OnStatistic = func(*inference.ModelStatisticsRequest) error { return errors.New("dial tcp 10.1.2.3: refused") }
	s := fronttest.Start(t, server)
	if a := s.Get("/v2/models/stats"); a.Status != http.StatusInternalServerError || a.Failure().Error != "internal error" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
