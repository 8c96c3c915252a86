package router_test

import (
	"context"
	"testing"
	"time"

	"triptych/gateway/ensemble"
	"triptych/gateway/router"
	"triptych/gateway/upstream"
	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	interval = 20 * time.Millisecond
	patience = 20 * time.Second
)

// files are the models that most tests serve: "plus" and "times" are in one
// service, "pick" in another, and "whole" is an ensemble of the three.
var files = map[string]string{
	"plus/config.pbtxt":  servertest.MapConfig("arithmetic"),
	"times/config.pbtxt": servertest.MapConfig("arithmetic") + "version_policy { all {} }",
	"times/1/":           "", "times/2/": "",
	"pick/config.pbtxt":  pickConfig,
	"whole/config.pbtxt": wholeConfig,
}

// arithmetic adds 10, or multiplies by 10 to the power of the version.
var arithmetic = servertest.Backend{Kind: "arithmetic", OnLoad: func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
	switch {
	case spec.Name() == "plus":
		return servertest.Map(func(x float32) float32 { return x + 10 }), nil
	case spec.Version == 2:
		return servertest.Map(func(x float32) float32 { return x * 100 }), nil
	}
	return servertest.Map(func(x float32) float32 { return x * 10 }), nil
}}

// picking gives the first top_k elements, 2 if that is absent.
var picking = servertest.Backend{Kind: "picking", OnLoad: func(context.Context, modelserver.Spec) (modelserver.Model, error) {
	return servertest.Model{OnInfer: func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		k, err := oip.IntParameter(req.GetParameters(), "top_k", 2)
		if err != nil {
			return nil, err
		}
		in, _ := oip.Input(req, "in")
		resp := &inference.ModelInferResponse{}
		oip.AddOutput(resp, oip.Tensor{Name: "out", Datatype: "FP32", Shape: []int64{1, k}, Data: in.Data[:4*k]})
		return resp, nil
	}}, nil
}}

const pickConfig = `backend: "picking" max_batch_size: 8
input { name: "in" data_type: TYPE_FP32 dims: 2 } output { name: "out" data_type: TYPE_FP32 dims: -1 }
`

// wholeConfig is (x + 10) * 100, the first of it.
const wholeConfig = `platform: "ensemble" max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 2 }
output { name: "y" data_type: TYPE_FP32 dims: -1 }
ensemble_scheduling {
  step { model_name: "plus" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "sum" } }
  step { model_name: "times" model_version: 2 input_map { key: "x" value: "sum" } output_map { key: "y" value: "product" } }
  step { model_name: "pick" model_version: -1 input_map { key: "in" value: "product" } output_map { key: "out" value: "y" } }
}
`

// gateway is a router over upstreams with its ensembles loaded.
type gateway struct {
	*router.Router
	fleet    *upstream.Fleet
	registry *modelserver.Registry
}

func newGateway(t *testing.T, folder string, tel *telemetry.Telemetry, addresses ...string) *gateway {
	t.Helper()
	repository, err := modelserver.NewRepository(folder)
	if err != nil {
		t.Fatal(err)
	}
	cfg := upstream.DefaultConfig()
	cfg.Addresses, cfg.Interval = addresses, interval
	fleet, err := upstream.New(cfg, rpc.DefaultConfig(), telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	r := router.New(fleet, repository, tel)
	registry := servertest.NewRegistry(t, tel, []string{folder}, ensemble.NewBackend(r, tel))
	r.Use(modelserver.NewService(modelserver.Info{Name: "gateway", Version: "1.2.3"}, registry, true), registry)
	if err := registry.LoadAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	part := fleet.Part()
	if err := part.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := part.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	g := &gateway{r, fleet, registry}
	g.nextRound(t)
	return g
}

func (g *gateway) nextRound(t *testing.T) {
	t.Helper()
	now := time.Now()
	eventually(t, "another round is over", func() bool { return g.fleet.Asked().After(now) })
}

// index is the index in short: "name/version STATE reason".
func (g *gateway) index(t *testing.T) []string {
	t.Helper()
	resp, err := g.RepositoryIndex(t.Context(), &inference.RepositoryIndexRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range resp.GetModels() {
		s := m.GetName() + "/" + m.GetVersion() + " " + m.GetState()
		if m.GetReason() != "" {
			s += " " + m.GetReason()
		}
		lines = append(lines, s)
	}
	return lines
}

func (g *gateway) serverReady(t *testing.T) bool {
	t.Helper()
	resp, err := g.ServerReady(t.Context(), &inference.ServerReadyRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetReady()
}

// eventually waits until a condition holds that other goroutines bring about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	testkit.Eventually(t, patience, what, holds)
}

// serve starts a service of one backend over the folder.
func serve(t *testing.T, folder, address string, backend modelserver.Backend) *servertest.Server {
	t.Helper()
	return servertest.Start(t, servertest.Options{Folders: []string{folder}, Address: address, Control: true}, backend)
}
