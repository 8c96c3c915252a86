package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/testkit/servertest"
)

const patience = 20 * time.Second

// filed is a backend whose models add the length of their file.
func filed(kind string) servertest.Backend {
	return servertest.Backend{Kind: kind, OnLoad: func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
		data, err := os.ReadFile(filepath.Join(spec.VersionDirectory(), "model.bin"))
		if err != nil {
			return nil, failure.New(failure.Invalid, "%s/%d/model.bin is missing", spec.Name(), spec.Version)
		}
		return servertest.Map(func(x float32) float32 { return x + float32(len(data)) }), nil
	}}
}

// wholeOf is an ensemble of two models that add.
func wholeOf(one, two string) string {
	return `platform: "ensemble" max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 2 }
output { name: "y" data_type: TYPE_FP32 dims: 2 }
ensemble_scheduling {
  step { model_name: "` + one + `" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "between" } }
  step { model_name: "` + two + `" model_version: -1 input_map { key: "x" value: "between" } output_map { key: "y" value: "y" } }
}
`
}

// controlled is a gateway under explicit control before two services, with nothing
// loaded.
type controlled struct {
	t      *testing.T
	folder string
	url    string
	grpc   inference.GRPCInferenceServiceClient
	ones   *servertest.Server
	twos   *servertest.Server
}

func control(t *testing.T, files map[string]string) *controlled {
	t.Helper()
	folder := servertest.Repository(t, files)
	serve := func(kind string) *servertest.Server {
		return servertest.Start(t, servertest.Options{Folders: []string{folder}, Control: true, Load: []string{}}, filed(kind))
	}
	c := &controlled{t: t, folder: folder, ones: serve("one"), twos: serve("two")}
	common, cfg := settings(t)
	common.Repository, common.Control.Mode = []string{folder}, "explicit"
	cfg.Upstreams.Addresses = []string{c.ones.Address, c.twos.Address}
	g := running(t, common, cfg)
	c.url, c.grpc = "http://"+g.HTTPAddress(), servertest.Client(t, g.GRPCAddress())
	return c
}

// post sends a document and gives the status and the answer's text.
func (c *controlled) post(path, body string) (int, string) {
	c.t.Helper()
	resp, err := http.Post(c.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func (c *controlled) get(path string) (int, string) {
	c.t.Helper()
	resp, err := http.Get(c.url + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// order loads or unloads a model over HTTP.
func (c *controlled) order(model, what, body string) {
	c.t.Helper()
	if status, text := c.post("/v2/repository/models/"+model+"/"+what, body); status != http.StatusOK {
		c.t.Errorf("%s %s: %d %s", what, model, status, text)
	}
}

// answers asks a model at a version over both doors.
func (c *controlled) answers(model, version string, want float32) {
	c.t.Helper()
	req := servertest.Request(model, 0, 0)
	req.ModelVersion = version
	resp, err := c.grpc.ModelInfer(c.t.Context(), req)
	if err != nil || servertest.Answer(resp, "y")[0] != want {
		c.t.Errorf("gRPC: %s/%s answers %v, %v; want %g", model, version, resp, err, want)
	}
	path := "/v2/models/" + model
	if version != "" {
		path += "/versions/" + version
	}
	status, text := c.post(path+"/infer", `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[0,0]}]}`)
	var answer struct{ Outputs []struct{ Data []float32 } }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK || answer.Outputs[0].Data[0] != want {
		c.t.Errorf("HTTP: %s/%s answers %d %s, want %g", model, version, status, text, want)
	}
}

// index is the index in short, "name/version STATE".
func (c *controlled) index() []string {
	c.t.Helper()
	resp, err := c.grpc.RepositoryIndex(c.t.Context(), &inference.RepositoryIndexRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	var lines []string
	for _, m := range resp.GetModels() {
		line := m.GetName() + "/" + m.GetVersion() + " " + m.GetState()
		if m.GetReason() != "" {
			line += " " + m.GetReason()
		}
		lines = append(lines, line)
	}
	return lines
}

func (c *controlled) wantIndex(lines ...string) {
	c.t.Helper()
	if diff := cmp.Diff(lines, c.index()); diff != "" {
		c.t.Error(diff)
	}
	if status, text := c.get("/v2/health/ready"); status != http.StatusOK {
		c.t.Errorf("not ready: %d %s", status, text)
	}
}

// Under explicit control an ensemble is loaded with its steps, wherever they live,
// and unloaded with those that nobody else needs.
func TestLoadWithDependents(t *testing.T) {
	c := control(t, map[string]string{
		"a/config.pbtxt": servertest.MapConfig("one"), "a/1/model.bin": "1",
		"b/config.pbtxt": servertest.MapConfig("two"), "b/1/model.bin": "22",
		"c/config.pbtxt":     servertest.MapConfig("two"),
		"whole/config.pbtxt": wholeOf("a", "b"), "other/config.pbtxt": wholeOf("b", "b"),
		"outer/config.pbtxt": wholeOf("whole", "a"), "lame/config.pbtxt": wholeOf("a", "c"),
		"typo/config.pbtxt": "bakend: 1",
	})
	const nothing = " UNAVAILABLE unloaded"
	c.wantIndex("a/"+nothing, "b/"+nothing, "c/"+nothing, "lame/"+nothing, "other/"+nothing, "outer/"+nothing,
		`typo/ UNAVAILABLE typo/config.pbtxt:1:1: unknown field: bakend, did you mean "backend"?`, "whole/"+nothing)
	c.order("outer", "load", "")
	c.answers("outer", "", 4)
	c.order("other", "load", "{}")
	c.answers("other", "", 4)
	status, text := c.post("/v2/repository/models/lame/load", "")
	if status != http.StatusBadRequest || !strings.Contains(text, "step c: c/1/model.bin is missing") {
		t.Errorf("got %d %s", status, text)
	}
	// What is not used by "other" goes with "outer".
	c.order("outer", "unload", `{"parameters":{"unload_dependents":true}}`)
	c.wantIndex("a/1"+nothing, "b/1 READY", "c/1 UNAVAILABLE c/1/model.bin is missing", "lame/"+nothing, "other/1 READY", "outer/1"+nothing,
		`typo/ UNAVAILABLE typo/config.pbtxt:1:1: unknown field: bakend, did you mean "backend"?`, "whole/1"+nothing)
	// A step that goes takes the ensemble out, until it is back.
	c.order("b", "unload", "")
	if resp, err := c.grpc.ModelReady(t.Context(), &inference.ModelReadyRequest{Name: "other"}); err != nil || resp.GetReady() {
		t.Errorf("ready: %v, %v", resp, err)
	}
	c.order("other", "load", "")
	c.answers("other", "", 4)
	for _, path := range []string{"nobody/load", "nobody/unload"} {
		if status, text := c.post("/v2/repository/models/"+path, ""); status != http.StatusNotFound {
			t.Errorf("%s: got %d %s", path, status, text)
		}
	}
}

// A load may bring the configuration and the files, over HTTP and over gRPC.
func TestLoadWithOverride(t *testing.T) {
	c := control(t, map[string]string{"a/config.pbtxt": servertest.MapConfig("one"), "a/1/model.bin": "1"})
	sent := func(backend string, batch int) string {
		return `{"backend":"` + backend + `","max_batch_size":` + strconv.Itoa(batch) + `,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[2]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":[2]}]}`
	}
	batch := func(model string, want int32) {
		t.Helper()
		resp, err := c.grpc.ModelConfig(t.Context(), &inference.ModelConfigRequest{Name: model})
		if err != nil || resp.GetConfig().GetMaxBatchSize() != want {
			t.Errorf("max_batch_size is %d, %v; want %d", resp.GetConfig().GetMaxBatchSize(), err, want)
		}
	}
	overHTTP := func(config, file string) string {
		params := map[string]string{"config": config}
		if file != "" {
			params["file:5/model.bin"] = base64.StdEncoding.EncodeToString([]byte(file))
		}
		body, err := json.Marshal(map[string]any{"parameters": params})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	overGRPC := func(model, config, file string) error {
		_, err := c.grpc.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: model, Parameters: map[string]*inference.ModelRepositoryParameter{
			"config":           {ParameterChoice: &inference.ModelRepositoryParameter_StringParam{StringParam: config}},
			"file:6/model.bin": {ParameterChoice: &inference.ModelRepositoryParameter_BytesParam{BytesParam: []byte(file)}},
		}})
		return err
	}
	c.order("a", "load", overHTTP(sent("one", 3), ""))
	c.answers("a", "", 1)
	batch("a", 3)
	c.order("a", "load", overHTTP(sent("one", 4), "55555"))
	c.answers("a", "5", 5)
	batch("a", 4)
	if err := overGRPC("a", sent("one", 5), "666666"); err != nil {
		t.Fatal(err)
	}
	c.answers("a", "6", 6)
	batch("a", 5)
	// A model that nobody has comes to the service of its backend alone.
	if err := overGRPC("new", sent("two", 5), "22"); err != nil {
		t.Fatal(err)
	}
	c.answers("new", "", 2)
	if c.ones.Registry.Has("new") || !c.twos.Registry.Has("new") {
		t.Error("the model is at the wrong service")
	}
	status, text := c.post("/v2/repository/models/a/load", overHTTP(`{"backend":"one","max_batchsize":1}`, ""))
	if status != http.StatusBadRequest || !strings.Contains(text, `did you mean \"max_batch_size\"?`) {
		t.Errorf("got %d %s", status, text)
	}
	c.answers("a", "", 6)
	c.order("a", "load", "")
	c.answers("a", "", 1)
	batch("a", 8)
	// An ensemble comes to the gateway itself.
	c.order("both", "load", overHTTP(strings.ReplaceAll(`{"platform":"ensemble","max_batch_size":8,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[2]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":[2]}],
		"ensemble_scheduling":{"step":[{"model_name":"a","model_version":-1,"input_map":{"x":"x"},"output_map":{"y":"y"}}]}}`, "\n", ""), "x"))
	c.answers("both", "", 1)
}

// Versions go by their labels wherever a version is named.
func TestVersionLabels(t *testing.T) {
	labels := func(text string) string {
		return servertest.MapConfig("one") + `version_policy { all {} } parameters { key: "version_labels" value { string_value: "` + text + `" } }`
	}
	c := control(t, map[string]string{"a/config.pbtxt": labels("stable=1,canary=2"), "a/1/model.bin": "1", "a/2/model.bin": "22"})
	c.order("a", "load", "")
	c.answers("a", "stable", 1)
	c.answers("a", "canary", 2)
	c.answers("a", "", 2)
	for path, want := range map[string]string{
		"": `"version_labels":"canary=2,stable=1"`, "/config": `"version_labels":{"string_value":"stable=1,canary=2"}`, "/ready": "true", "/stats": `"version":"1"`,
	} {
		if status, text := c.get("/v2/models/a/versions/stable" + path); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: got %d %s, want %s", path, status, text, want)
		}
	}
	// The canary is promoted: labels move, nothing is loaded anew.
	servertest.Write(t, c.folder, map[string]string{"a/config.pbtxt": labels("stable=2")})
	c.order("a", "load", "")
	c.answers("a", "stable", 2)
	if status, text := c.post("/v2/models/a/versions/canary/infer", `{"inputs":[]}`); status != http.StatusNotFound || !strings.Contains(text, "has no version with the label") {
		t.Errorf("got %d %s", status, text)
	}
}
