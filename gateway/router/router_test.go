package router_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

var goodIndex = []string{"pick/1 READY", "plus/1 READY", "times/1 READY", "times/2 READY", "whole/1 READY"}

// TestEnsemble compares an ensemble over two services with its steps called one
// after the other.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, files)
	one, two := serve(t, folder, "", arithmetic), serve(t, folder, "", picking)
	g := newGateway(t, folder, telemetry.Discard(), one.Address, two.Address)
	if diff := cmp.Diff(goodIndex, g.index(t)); diff != "" {
		t.Fatal(diff)
	}
	if !g.serverReady(t) {
		t.Error("not ready")
	}
	direct := func(x ...float32) []float32 {
		step := func(model, version, in, out string, data []byte) []byte {
			req := &inference.ModelInferRequest{ModelName: model, ModelVersion: version}
			oip.AddInput(req, oip.Tensor{Name: in, Datatype: "FP32", Shape: []int64{1, 2}, Data: data})
			resp, err := g.ModelInfer(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			y, _ := oip.Output(resp, out)
			return y.Data
		}
		return servertest.Floats(step("pick", "", "in", "out", step("times", "2", "x", "y", step("plus", "", "x", "y", servertest.Raw(x...)))))
	}
	want := direct(1, 2)
	if diff := cmp.Diff([]float32{1100, 1200}, want); diff != "" {
		t.Fatal(diff)
	}
	resp, err := g.ModelInfer(t.Context(), servertest.Request("whole", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, servertest.Answer(resp, "y")); diff != "" {
		t.Error(diff)
	}
	// A parameter of the request comes to the last step, and its failure back.
	req := servertest.Request("whole", 1, 2)
	req.Parameters = oip.Parameters{"top_k": oip.Int64(1)}
	if resp, err = g.ModelInfer(t.Context(), req); err != nil || !slices.Equal(servertest.Answer(resp, "y"), []float32{1100}) {
		t.Errorf("got %v, %v", resp, err)
	}
	req.Parameters = oip.Parameters{"top_k": oip.String("five")}
	if _, err = g.ModelInfer(t.Context(), req); failure.KindOf(err) != failure.Invalid || failure.Message(err) != `step pick: parameter "top_k" must be a whole number` {
		t.Errorf("got %v", err)
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 20 {
				x := float32(i*20 + j)
				resp, err := g.ModelInfer(t.Context(), servertest.Request("whole", x, -x))
				if want := []float32{(x + 10) * 100, (10 - x) * 100}; err != nil || !slices.Equal(servertest.Answer(resp, "y"), want) {
					t.Errorf("%g gives %v, %v", x, servertest.Answer(resp, "y"), err)
				}
			}
		})
	}
	all.Wait()
}

// TestBroken is a repository in which much is wrong: all of it is shown, with the
// reason, and none of it breaks what is well.
func TestBroken(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, files)
	servertest.Write(t, folder, map[string]string{
		"misspelt/config.pbtxt": servertest.MapConfig("arithmetik"),
		"typo/config.pbtxt":     "backend: \"picking\"\nmax_batchsize: 8\n",
		"unfit/config.pbtxt":    strings.Replace(wholeConfig, "TYPE_FP32 dims: 2", "TYPE_FP32 dims: 3", 1),
		"lost/config.pbtxt":     strings.Replace(wholeConfig, `"pick"`, `"nobody"`, 1),
		"old/config.pbtxt":      strings.Replace(wholeConfig, "model_version: 2", "model_version: 9", 1),
		"ping/config.pbtxt":     strings.Replace(wholeConfig, `"plus"`, `"pong"`, 1),
		"pong/config.pbtxt":     strings.Replace(wholeConfig, `"plus"`, `"ping"`, 1),
		"outer/config.pbtxt":    strings.Replace(wholeConfig, `"plus"`, `"inner"`, 1),
		"inner/config.pbtxt": `platform: "ensemble" max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 2 } output { name: "y" data_type: TYPE_FP32 dims: 2 }
ensemble_scheduling { step { model_name: "plus" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } } }`,
		"inner/3/": "",
	})
	one, two := serve(t, folder, "", arithmetic), serve(t, folder, "", picking)
	g := newGateway(t, folder, telemetry.Discard(), one.Address, two.Address)
	reasons := map[string]string{
		"misspelt": `no service has the backend "arithmetik"`,
		"typo":     `typo/config.pbtxt:2:1: unknown field: max_batchsize, did you mean "max_batch_size"?`,
		"unfit":    `tensor "x": the ensemble's input gives the shape [-1,3], step plus wants [-1,2]`,
		"lost":     `step nobody: model "nobody" is served by no upstream`,
		"old":      `step times: model "times" version 9 is served by no upstream`,
		"ping":     "ensembles call each other in a circle: ping > pong > ping",
		"pong":     "ensembles call each other in a circle: pong > ping > pong",
	}
	want := append([]string{
		"inner/3 READY", "outer/1 READY", "misspelt/ UNAVAILABLE " + reasons["misspelt"], "typo/ UNAVAILABLE " + reasons["typo"],
	}, goodIndex...)
	for _, name := range []string{"unfit", "lost", "old", "ping", "pong"} {
		want = append(want, name+"/1 UNAVAILABLE "+reasons[name])
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, g.index(t)); diff != "" {
		t.Error(diff)
	}
	if g.serverReady(t) {
		t.Error("ready")
	}
	for name, reason := range reasons {
		_, err := g.ModelInfer(t.Context(), servertest.Request(name, 1, 2))
		if failure.KindOf(err) != failure.Unavailable || !strings.Contains(failure.Message(err), reason) || failure.RetryAfter(err) == 0 {
			t.Errorf("%s: got %v, want %q", name, err, reason)
		}
		ready, err := g.ModelReady(t.Context(), &inference.ModelReadyRequest{Name: name})
		if err != nil || ready.GetReady() {
			t.Errorf("%s: ready %v, %v", name, ready, err)
		}
	}
	resp, err := g.ModelInfer(t.Context(), servertest.Request("outer", 1, 2))
	if err != nil || !slices.Equal(servertest.Answer(resp, "y"), []float32{1100, 1200}) {
		t.Errorf("got %v, %v", resp, err)
	}
}

// TestQuestions are answered for the gateway's own models and for others alike.
func TestQuestions(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, files)
	one, two := serve(t, folder, "", arithmetic), serve(t, folder, "", picking)
	g := newGateway(t, folder, telemetry.Discard(), one.Address, two.Address)
	tests := map[string]struct {
		model, version string
		kind           failure.Kind
		versions       []string
	}{
		"own":             {"whole", "", 0, []string{"1"}},
		"own, version":    {"whole", "1", 0, []string{"1"}},
		"remote":          {"times", "", 0, []string{"1", "2"}},
		"remote, version": {"times", "1", 0, []string{"1", "2"}},
		"own, unknown":    {"whole", "5", failure.NotFound, nil},
		"remote, unknown": {"times", "5", failure.NotFound, nil},
		"own, bad":        {"whole", "01", failure.Invalid, nil},
		"remote, bad":     {"times", "01", failure.Invalid, nil},
		"nobody":          {"nobody", "", failure.NotFound, nil},
		"outside":         {"../whole", "", failure.NotFound, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := g.ModelMetadata(t.Context(), &inference.ModelMetadataRequest{Name: test.model, Version: test.version})
			if failureKind(err) != test.kind || (err == nil && !slices.Equal(m.GetVersions(), test.versions)) {
				t.Errorf("metadata: %v, %v", m, err)
			}
			cfg, err := g.ModelConfig(t.Context(), &inference.ModelConfigRequest{Name: test.model, Version: test.version})
			if failureKind(err) != test.kind || (err == nil && cfg.GetConfig().GetName() != test.model) {
				t.Errorf("config: %v, %v", cfg, err)
			}
			ready, err := g.ModelReady(t.Context(), &inference.ModelReadyRequest{Name: test.model, Version: test.version})
			if failureKind(err) != test.kind || (err == nil && !ready.GetReady()) {
				t.Errorf("ready: %v, %v", ready, err)
			}
			stats, err := g.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: test.model, Version: test.version})
			if failureKind(err) != test.kind || (err == nil && stats.GetModelStats()[0].GetName() != test.model) {
				t.Errorf("statistics: %v, %v", stats, err)
			}
			_, err = g.ModelInfer(t.Context(), &inference.ModelInferRequest{ModelName: test.model, ModelVersion: test.version})
			if test.kind != 0 && failureKind(err) != test.kind {
				t.Errorf("infer: %v", err)
			}
		})
	}
	meta, err := g.ServerMetadata(t.Context(), &inference.ServerMetadataRequest{})
	if err != nil || meta.GetName() != "triptych" || meta.GetVersion() != "1.2.3" {
		t.Errorf("got %v, %v", meta, err)
	}
	if live, err := g.ServerLive(t.Context(), &inference.ServerLiveRequest{}); err != nil || !live.GetLive() {
		t.Errorf("got %v, %v", live, err)
	}
	if _, err := g.RepositoryIndex(t.Context(), &inference.RepositoryIndexRequest{RepositoryName: "x"}); failure.KindOf(err) != failure.Unsupported {
		t.Errorf("got %v", err)
	}
}

// failureKind is the kind of an error, and 0 for none.
func failureKind(err error) failure.Kind {
	if err == nil {
		return 0
	}
	return failure.KindOf(err)
}

// TestStatistics adds up what two replicas counted.
func TestStatistics(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, files)
	one, two, other := serve(t, folder, "", arithmetic), serve(t, folder, "", arithmetic), serve(t, folder, "", picking)
	g := newGateway(t, folder, telemetry.Discard(), one.Address, two.Address, other.Address)
	for range 30 {
		if _, err := g.ModelInfer(t.Context(), servertest.Request("whole", 1, 2)); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := g.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	var order []string
	for _, m := range resp.GetModelStats() {
		name := m.GetName() + "/" + m.GetVersion()
		order = append(order, name)
		got[name] = m.GetInferenceCount()
		if n := m.GetInferenceCount(); m.GetExecutionCount() != n || m.GetInferenceStats().GetSuccess().GetCount() != n ||
			(n > 0 && (len(m.GetBatchStats()) != 1 || m.GetBatchStats()[0].GetComputeInfer().GetCount() != n || m.GetLastInference() == 0)) {
			t.Errorf("got %v", m)
		}
	}
	if diff := cmp.Diff([]string{"pick/1", "plus/1", "times/1", "times/2", "whole/1"}, order); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]uint64{"pick/1": 30, "plus/1": 30, "times/1": 0, "times/2": 30, "whole/1": 30}, got); diff != "" {
		t.Error(diff)
	}
	// One that is away is left out.
	counts := func(r *modelserver.Registry) uint64 {
		resp, err := modelserver.NewService(modelserver.Info{}, r, false).ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: "plus"})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetModelStats()[0].GetInferenceCount()
	}
	ones, twos := counts(one.Registry), counts(two.Registry)
	if ones == 0 || twos == 0 || ones+twos != 30 {
		t.Errorf("the replicas counted %d and %d", ones, twos)
	}
	two.Kill()
	resp, err = g.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: "plus"})
	if err != nil || resp.GetModelStats()[0].GetInferenceCount() != ones {
		t.Errorf("got %v, %v", resp, err)
	}
}

// TestStatisticsOfCaches adds up hits and misses of two replicas; where an answer
// came from passes the gateway.
func TestStatisticsOfCaches(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"plus/config.pbtxt": servertest.MapConfig("arithmetic") + "response_cache { enable: true }"})
	one, two := serve(t, folder, "", arithmetic), serve(t, folder, "", arithmetic)
	g := newGateway(t, folder, telemetry.Discard(), one.Address, two.Address)
	from := map[string]uint64{}
	for range 30 {
		resp, err := g.ModelInfer(t.Context(), servertest.Request("plus", 1, 2))
		if err != nil {
			t.Fatal(err)
		}
		from[resp.GetParameters()[modelserver.CacheParameter].GetStringParam()]++
	}
	if diff := cmp.Diff(map[string]uint64{"miss": 2, "hit": 28}, from); diff != "" {
		t.Error(diff)
	}
	resp, err := g.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: "plus"})
	if err != nil {
		t.Fatal(err)
	}
	all := resp.GetModelStats()[0]
	if s := all.GetInferenceStats(); s.GetCacheHit().GetCount() != 28 || s.GetCacheMiss().GetCount() != 2 || s.GetSuccess().GetCount() != 30 || all.GetInferenceCount() != 2 {
		t.Errorf("got %v", all)
	}
}

// TestDown kills an upstream under an ensemble and brings it back.
func TestDown(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, files)
	one, two := serve(t, folder, "", arithmetic), serve(t, folder, "", picking)
	g := newGateway(t, folder, telemetry.Discard(), one.Address, two.Address)
	if err := g.registry.EverReady(); err != nil {
		t.Fatal(err)
	}
	two.Kill()
	req := servertest.Request("whole", 1, 2)
	req.ModelVersion = "1"
	_, err := g.ModelInfer(t.Context(), req)
	if failure.KindOf(err) != failure.Unavailable || !strings.Contains(failure.Message(err), two.Address+" is not available") {
		t.Errorf("got %v", err)
	}
	away := two.Address + " is not available"
	eventually(t, "the index shows it", func() bool {
		return slices.Equal(g.index(t), []string{
			"pick/1 UNAVAILABLE " + away, "plus/1 READY", "times/1 READY", "times/2 READY",
			`whole/1 UNAVAILABLE step pick: model "pick" version 1 is not ready: ` + away,
		})
	})
	if g.serverReady(t) || g.registry.EverReady() != nil {
		t.Errorf("ready %t, ever ready %v", g.serverReady(t), g.registry.EverReady())
	}
	for model, want := range map[string]failure.Kind{"whole": failure.Unavailable, "pick": failure.Unavailable, "nobody": failure.NotFound} {
		if _, err := g.ModelInfer(t.Context(), &inference.ModelInferRequest{ModelName: model}); failure.KindOf(err) != want {
			t.Errorf("%s: got %v", model, err)
		}
	}
	if _, err := g.ModelConfig(t.Context(), &inference.ModelConfigRequest{Name: "whole"}); err != nil {
		t.Errorf("the configuration of an ensemble whose step is away: %v", err)
	}
	serve(t, folder, two.Address, picking)
	eventually(t, "everything works again", func() bool {
		resp, err := g.ModelInfer(t.Context(), servertest.Request("whole", 1, 2))
		return err == nil && slices.Equal(servertest.Answer(resp, "y"), []float32{1100, 1200}) && g.serverReady(t)
	})
}

// TestNeverUp has no upstream at first: what the repository has is there, and
// not served.
func TestNeverUp(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, files)
	g := newGateway(t, folder, telemetry.Discard(), "127.0.0.1:1")
	want := []string{
		"pick/ UNAVAILABLE 127.0.0.1:1 is not available", "plus/ UNAVAILABLE 127.0.0.1:1 is not available",
		"times/ UNAVAILABLE 127.0.0.1:1 is not available",
		`whole/1 UNAVAILABLE step plus: model "plus" is not served: 127.0.0.1:1 is not available`,
	}
	if diff := cmp.Diff(want, g.index(t)); diff != "" {
		t.Error(diff)
	}
	if g.serverReady(t) {
		t.Error("ready")
	}
	for model, want := range map[string]failure.Kind{"plus": failure.Unavailable, "whole": failure.Unavailable, "nobody": failure.NotFound} {
		if _, err := g.ModelInfer(t.Context(), servertest.Request(model, 1, 2)); failure.KindOf(err) != want {
			t.Errorf("%s: got %v", model, err)
		}
	}
	if _, err := g.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: "plus"}); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("a load that reaches nobody: %v", err)
	}
}

func TestLoadAndUnload(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, files)
	one, two, other := serve(t, folder, "", arithmetic), serve(t, folder, "", arithmetic), serve(t, folder, "", picking)
	g := newGateway(t, folder, telemetry.Discard(), one.Address, two.Address, other.Address)
	load := func(name string) error {
		_, err := g.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: name})
		return err
	}
	unload := func(name string) error {
		_, err := g.RepositoryModelUnload(t.Context(), &inference.RepositoryModelUnloadRequest{ModelName: name})
		return err
	}
	for _, name := range []string{"plus", "whole"} {
		if err := unload(name); err != nil {
			t.Fatal(err)
		}
	}
	g.nextRound(t)
	want := []string{"pick/1 READY", "plus/1 UNAVAILABLE unloaded", "times/1 READY", "times/2 READY", "whole/1 UNAVAILABLE unloaded"}
	if diff := cmp.Diff(want, g.index(t)); diff != "" {
		t.Error(diff)
	}
	if !g.serverReady(t) {
		t.Error("what was unloaded on purpose is missed")
	}
	// An ensemble and a model that come while everything runs.
	servertest.Write(t, folder, map[string]string{
		"new/config.pbtxt":  servertest.MapConfig("arithmetic"),
		"more/config.pbtxt": strings.Replace(wholeConfig, `"plus"`, `"new"`, 1),
		"bad/config.pbtxt":  servertest.MapConfig("arithmetic") + "version_policy { specific { versions: [ 8 ] } }",
	})
	for _, name := range []string{"more", "new", "plus", "whole"} {
		if err := load(name); err != nil {
			t.Errorf("load %s: %v", name, err)
		}
	}
	if err := load("bad"); failure.KindOf(err) != failure.Invalid || failure.Message(err) != `version 8 of model "bad" is not in its folder` {
		t.Errorf("got %v", err)
	}
	g.nextRound(t)
	if diff := cmp.Diff(append([]string{`bad/8 UNAVAILABLE version 8 of model "bad" is not in its folder`, "more/1 READY", "new/1 READY"}, goodIndex...), g.index(t)); diff != "" {
		t.Error(diff)
	}
	for what, do := range map[string]func(string) error{"load": load, "unload": unload} {
		if err := do("nobody"); failure.KindOf(err) != failure.NotFound {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if resp, err := g.ModelInfer(t.Context(), servertest.Request("more", 1, 2)); err != nil || !slices.Equal(servertest.Answer(resp, "y"), []float32{1000, 2000}) {
		t.Errorf("got %v, %v", resp, err)
	}
}

// TestLateEnsemble loads an ensemble whose step is an ensemble that is loaded
// after it: it becomes ready though nothing changed at the upstreams.
func TestLateEnsemble(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, files)
	servertest.Write(t, folder, map[string]string{"early/config.pbtxt": `platform: "ensemble" max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 2 } output { name: "y" data_type: TYPE_FP32 dims: -1 }
ensemble_scheduling { step { model_name: "late" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } } }`})
	one, two := serve(t, folder, "", arithmetic), serve(t, folder, "", picking)
	g := newGateway(t, folder, telemetry.Discard(), one.Address, two.Address)
	if _, err := g.ModelInfer(t.Context(), servertest.Request("early", 1, 2)); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("got %v", err)
	}
	servertest.Write(t, folder, map[string]string{"late/config.pbtxt": wholeConfig})
	if _, err := g.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: "late"}); err != nil {
		t.Fatal(err)
	}
	if resp, err := g.ModelInfer(t.Context(), servertest.Request("early", 1, 2)); err != nil || !slices.Equal(servertest.Answer(resp, "y"), []float32{1100, 1200}) {
		t.Errorf("got %v, %v", resp, err)
	}
}

// TestSpans follows one request through the gateway and both services, and finds
// nothing of the rounds of asking.
func TestSpans(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tel := func() *telemetry.Telemetry {
		tel := telemetry.Discard()
		tel.TracerProvider, tel.Tracer = provider, provider.Tracer("test")
		return tel
	}
	folder := servertest.Repository(t, files)
	one := servertest.Start(t, servertest.Options{Folders: []string{folder}, Telemetry: tel()}, arithmetic)
	two := servertest.Start(t, servertest.Options{Folders: []string{folder}, Telemetry: tel()}, picking)
	g := newGateway(t, folder, tel(), one.Address, two.Address)
	g.nextRound(t)
	if spans := exporter.GetSpans(); len(spans) != 0 {
		t.Errorf("asking what is served left %d spans, such as %s", len(spans), spans[0].Name)
	}
	ask := func(req *inference.ModelInferRequest, spans int) (map[string]tracetest.SpanStub, error) {
		t.Helper()
		exporter.Reset()
		ctx, root := provider.Tracer("test").Start(context.Background(), "root")
		_, err := g.ModelInfer(ctx, req)
		root.End()
		eventually(t, "all spans are there", func() bool { return len(exporter.GetSpans()) >= spans+1 })
		byID, named := map[trace.SpanID]tracetest.SpanStub{}, map[string]tracetest.SpanStub{}
		for _, span := range exporter.GetSpans() {
			byID[span.SpanContext.SpanID()] = span
		}
		for _, span := range byID {
			if span.SpanContext.TraceID() != root.SpanContext().TraceID() {
				t.Errorf("%s is in another trace", span.Name)
			}
			name := span.Name
			if span.SpanKind == trace.SpanKindServer {
				name = "server of " + byID[span.Parent.SpanID()].Name
			}
			named[name] = span
		}
		return named, err
	}
	spans, err := ask(servertest.Request("whole", 1, 2), 7)
	if err != nil {
		t.Fatal(err)
	}
	parents := map[string]string{
		"ensemble whole": "root", "step plus": "ensemble whole", "step times": "ensemble whole", "step pick": "ensemble whole",
		"server of step plus": "step plus", "server of step times": "step times", "server of step pick": "step pick",
	}
	for child, parent := range parents {
		if spans[child].Parent.SpanID() != spans[parent].SpanContext.SpanID() {
			t.Errorf("%s is not a child of %s: %v", child, parent, spans)
		}
	}
	if spans["step pick"].SpanKind != trace.SpanKindClient || len(spans) != 8 {
		t.Errorf("got %v", spans)
	}

	bad := servertest.Request("whole", 1, 2)
	bad.Parameters = oip.Parameters{"top_k": oip.String("five")}
	if spans, err = ask(bad, 7); err == nil {
		t.Error("no error")
	}
	for name, want := range map[string]codes.Code{"ensemble whole": codes.Error, "step pick": codes.Error, "step plus": codes.Unset, "step times": codes.Unset} {
		if spans[name].Status.Code != want {
			t.Errorf("%s has the status %v", name, spans[name].Status)
		}
	}

	if spans, err = ask(&inference.ModelInferRequest{ModelName: "plus"}, 2); err == nil {
		t.Error("no error")
	}
	if spans["infer plus"].Status.Code != codes.Error || spans["server of infer plus"].Parent.SpanID() != spans["infer plus"].SpanContext.SpanID() {
		t.Errorf("got %v", spans)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, files)
	one, two := serve(t, folder, "", arithmetic), serve(t, folder, "", picking)
	g := newGateway(t, folder, telemetry.Discard(), one.Address, two.Address)
	front := servertest.Start(t, servertest.Options{Folders: []string{folder}, Wrap: func(*modelserver.Service) inference.GRPCInferenceServiceServer { return g }})
	stream, err := servertest.Client(t, front.Address).ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		model, version string
		want           []float32
		message        string
	}{
		{"whole", "", []float32{1100, 1200}, ""},
		{"nobody", "", nil, `unknown model "nobody"`},
		{"times", "1", []float32{10, 20}, ""},
	} {
		req := servertest.Request(test.model, 1, 2)
		req.ModelVersion = test.version
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if answer.GetErrorMessage() != test.message || !slices.Equal(servertest.Answer(answer.GetInferResponse(), "y"), append([]float32{}, test.want...)) {
			t.Errorf("%s: got %v", test.model, answer)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
}

// A model that comes while everything is ready takes nobody out: not while it is
// only there, nor when it can't be loaded. One that has served is missed.
func TestModelThatComesLater(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, files)
	one, two := serve(t, folder, "", arithmetic), serve(t, folder, "", picking)
	g := newGateway(t, folder, telemetry.Discard(), one.Address, two.Address)
	if !g.serverReady(t) {
		t.Fatal("not ready")
	}
	servertest.Write(t, folder, map[string]string{
		"late/config.pbtxt": servertest.MapConfig("arithmetic") + "version_policy { specific { versions: [ 8 ] } }",
		"odd/config.pbtxt":  servertest.MapConfig("nobody"),
	})
	eventually(t, "it is seen", func() bool {
		return slices.ContainsFunc(g.index(t), func(s string) bool { return strings.HasPrefix(s, "late/") })
	})
	if !g.serverReady(t) {
		t.Error("unready for a model that nobody loads")
	}
	load := func() error {
		_, err := g.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: "late"})
		return err
	}
	if err := load(); err == nil || !g.serverReady(t) {
		t.Errorf("load gives %v, ready %t", err, g.serverReady(t))
	}
	servertest.Write(t, folder, map[string]string{"late/8/": ""})
	if err := load(); err != nil || !g.serverReady(t) {
		t.Errorf("load gives %v, ready %t", err, g.serverReady(t))
	}
	one.Kill()
	eventually(t, "what served is missed", func() bool { return !g.serverReady(t) })
}
