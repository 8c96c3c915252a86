package upstream_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/gateway/upstream"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*upstream.Config)
		want   string
	}{
		"default":       {func(*upstream.Config) {}, ""},
		"host and port": {func(c *upstream.Config) { c.Addresses = []string{"localhost:8001", "[::1]:8001", "127.0.0.1:1"} }, ""},
		"target":        {func(c *upstream.Config) { c.Addresses = []string{"dns:///predictor:8001"} }, ""},
		"a name server": {func(c *upstream.Config) { c.Addresses = []string{"dns://1.1.1.1/predictor:8001"} }, "upstreams"},
		"a socket":      {func(c *upstream.Config) { c.Addresses = []string{"unix:///run/x.sock"} }, "upstreams"},
		"a named port":  {func(c *upstream.Config) { c.Addresses = []string{"predictor:grpc"} }, "upstreams"},
		"no port":       {func(c *upstream.Config) { c.Addresses = []string{"a:1", "predictor"} }, "upstreams"},
		"empty":         {func(c *upstream.Config) { c.Addresses = []string{""} }, "upstreams"},
		"interval":      {func(c *upstream.Config) { c.Interval = time.Millisecond }, "discovery-interval"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := upstream.DefaultConfig()
			test.change(&cfg)
			err := cfg.Validate()
			if (err != nil) != (test.want != "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{
		"b/config.pbtxt": servertest.MapConfig("add") + "version_policy { all {} }",
		"b/9/":           "", "b/10/": "",
		"other/config.pbtxt": servertest.MapConfig("elsewhere"),
	})
	one := servertest.Start(t, servertest.Options{Folders: []string{folder}}, adding("add", 1))
	two := serve(t, "", 2, "a")
	f := start(t, one.Address, "dns:///"+strings.Replace(two.Address, "127.0.0.1", "localhost", 1))
	if diff := cmp.Diff([]string{"a/1 READY", "b/9 READY", "b/10 READY"}, index(f)); diff != "" {
		t.Error(diff)
	}
	if err := f.Ready(); err != nil { // though localhost may have an address where nobody listens
		t.Error(err)
	}
	for _, version := range []string{"", "9", "10"} {
		cfg, err := f.Catalog().Config("b", version)
		if err != nil || cfg.GetName() != "b" || cfg.GetMaxBatchSize() != 8 {
			t.Errorf("version %q: %v, %v", version, cfg, err)
		}
	}
	_, err := f.Catalog().Config("b", "11")
	if want := `model "b" version 11 is served by no upstream`; failure.KindOf(err) != failure.Unavailable || failure.Message(err) != want {
		t.Errorf("got %v", err)
	}
	if f.Catalog().Has("other") || !f.Catalog().Has("a") {
		t.Error("what is there is not what is served")
	}
	if diff := cmp.Diff([]float32{2, 3}, infer(t, f, "a", 0, 1)); diff != "" {
		t.Error(diff)
	}
	_, peer, err := f.Infer(t.Context(), servertest.Request("b", 1, 2))
	if err != nil || peer != one.Address {
		t.Errorf("asked %q, %v", peer, err)
	}
}

func infer(t *testing.T, f *upstream.Fleet, model string, x ...float32) []float32 {
	t.Helper()
	resp, _, err := f.Infer(t.Context(), servertest.Request(model, x...))
	if err != nil {
		t.Error(err)
	}
	return servertest.Answer(resp, "y")
}

// TestInferFailures are told from each other: what a model says, what is not
// there, and whom nobody knows.
func TestInferFailures(t *testing.T) {
	t.Parallel()
	s := serve(t, "", 1, "a", "gone")
	if err := s.Registry.Unload(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	f := start(t, s.Address)
	tests := map[string]struct {
		change func(*inference.ModelInferRequest)
		kind   failure.Kind
		want   string
	}{
		"bad request":     {func(r *inference.ModelInferRequest) { r.Inputs[0].Datatype = "INT8" }, failure.Invalid, `input "x" has datatype "INT8", the model wants FP32`},
		"unknown version": {func(r *inference.ModelInferRequest) { r.ModelVersion = "7" }, failure.NotFound, `unknown version 7 of model "a"`},
		"bad version":     {func(r *inference.ModelInferRequest) { r.ModelVersion = "X" }, failure.Invalid, `version "X" of model "a" is not a whole number above 0`},
		"unknown label":   {func(r *inference.ModelInferRequest) { r.ModelVersion = "x" }, failure.NotFound, `model "a" has no version with the label "x"`},
		"unknown model":   {func(r *inference.ModelInferRequest) { r.ModelName = "nobody" }, failure.Unavailable, `model "nobody" is served by no upstream`},
		"unloaded":        {func(r *inference.ModelInferRequest) { r.ModelName = "gone" }, failure.Unavailable, `model "gone" is not ready: unloaded`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := servertest.Request("a", 1, 2)
			test.change(req)
			_, _, err := f.Infer(t.Context(), req)
			if failure.KindOf(err) != test.kind || failure.Message(err) != test.want {
				t.Errorf("got %s %v, want %s %q", failure.KindOf(err), err, test.kind, test.want)
			}
		})
	}
}

// TestDownThenUp starts without the upstream, lets it come, die and come back.
func TestDownThenUp(t *testing.T) {
	t.Parallel()
	address := testkit.FreeAddress(t)
	f := start(t, address)
	if failure.KindOf(f.Ready()) != failure.Unavailable || failure.Message(f.Ready()) != address+" is not available" {
		t.Errorf("ready: %v", f.Ready())
	}
	_, _, err := f.Infer(t.Context(), servertest.Request("a", 1, 2))
	if want := `model "a" is not served: ` + address + " is not available"; failure.KindOf(err) != failure.Unavailable || failure.Message(err) != want {
		t.Errorf("got %v", err)
	}
	for range 2 {
		s := serve(t, address, 5, "a")
		eventually(t, "the upstream is found", func() bool { return f.Ready() == nil && f.Catalog().Has("a") })
		eventually(t, "calls are answered", func() bool {
			resp, _, err := f.Infer(t.Context(), servertest.Request("a", 1, 2))
			return err == nil && slices.Equal(servertest.Answer(resp, "y"), []float32{6, 7})
		})
		s.Kill()
		begun := time.Now()
		_, peer, err := f.Infer(t.Context(), servertest.Request("a", 1, 2))
		if failure.KindOf(err) != failure.Unavailable || !strings.Contains(failure.Message(err), address+" is not available") || failure.RetryAfter(err) <= 0 {
			t.Errorf("asked %q, got %v, retry after %s", peer, err, failure.RetryAfter(err))
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the failure took %s", took)
		}
		eventually(t, "its absence is noticed", func() bool { return f.Ready() != nil })
		if diff := cmp.Diff([]string{"a/1 UNAVAILABLE " + address + " is not available"}, index(f)); diff != "" {
			t.Error(diff)
		}
		if _, err := f.Catalog().Config("a", ""); failure.KindOf(err) != failure.Unavailable {
			t.Errorf("got %v", err)
		}
	}
}

// TestTwoPools spreads calls over two pools of one model, and leaves out the one
// that dies at once: no call fails.
func TestTwoPools(t *testing.T) {
	t.Parallel()
	one, two := serve(t, "", 1, "a", "only"), serve(t, "", 2, "a")
	f := start(t, one.Address, two.Address)
	count := func(n int) map[float32]int {
		answers := map[float32]int{}
		for range n {
			if y := infer(t, f, "a", 0, 0); len(y) > 0 {
				answers[y[0]]++
			}
			infer(t, f, "only", 0, 0) // other calls in between change nothing
		}
		return answers
	}
	if answers := count(200); answers[1] < 50 || answers[2] < 50 {
		t.Errorf("the answers came from %v", answers)
	}
	two.Kill()
	eventually(t, "its connection is gone", func() bool { return f.Connected() == 1 })
	if answers := count(200); answers[1] != 200 {
		t.Errorf("the answers came from %v", answers)
	}
	eventually(t, "its absence is noticed", func() bool { return f.Ready() != nil })
	if diff := cmp.Diff([]string{"a/1 READY", "only/1 READY"}, index(f)); diff != "" {
		t.Error(diff)
	}
	if answers := count(20); answers[1] != 20 {
		t.Errorf("the answers came from %v", answers)
	}
}

// TestMerge joins what two replicas say of one version: the one that is ready
// wins, whichever is asked first.
func TestMerge(t *testing.T) {
	t.Parallel()
	one, two := serve(t, "", 1, "a", "b"), serve(t, "", 2, "a", "b")
	for server, model := range map[*servertest.Server]string{one: "a", two: "b"} {
		if err := server.Registry.Unload(t.Context(), model); err != nil {
			t.Fatal(err)
		}
	}
	f := start(t, one.Address, two.Address)
	if diff := cmp.Diff([]string{"a/1 READY", "b/1 READY"}, index(f)); diff != "" {
		t.Error(diff)
	}
	for range 20 { // each goes where it is ready
		if a, b := infer(t, f, "a", 0, 0), infer(t, f, "b", 0, 0); a[0] != 2 || b[0] != 1 {
			t.Errorf("a is answered by %v, b by %v", a, b)
		}
	}
}

func TestGeneration(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a/config.pbtxt": servertest.MapConfig("add"), "a/1/": ""}
	folder := servertest.Repository(t, files)
	s := servertest.Start(t, servertest.Options{Folders: []string{folder}, Control: true}, adding("add", 1))
	f := start(t, s.Address)
	changed := func(what string, change bool, act func() error) {
		t.Helper()
		before := f.Catalog().Generation
		if err := act(); err != nil {
			t.Fatal(err)
		}
		nextRound(t, f)
		nextRound(t, f)
		if (f.Catalog().Generation != before) != change {
			t.Errorf("%s: generation %d, then %d", what, before, f.Catalog().Generation)
		}
	}
	load := func() error { return s.Registry.Load(t.Context(), "a") }
	changed("nothing", false, func() error { return nil })
	changed("the same again", false, load)
	before, err := f.Catalog().Config("a", "")
	if err != nil {
		t.Fatal(err)
	}
	changed("another configuration", true, func() error {
		servertest.Write(t, folder, map[string]string{"a/config.pbtxt": strings.Replace(servertest.MapConfig("add"), "max_batch_size: 8", "max_batch_size: 3", 1)})
		return f.Each("a", true, func(c inference.GRPCInferenceServiceClient) error {
			_, err := c.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: "a"})
			return err
		})
	})
	after, err := f.Catalog().Config("a", "")
	if err != nil || after.GetMaxBatchSize() != 3 || before.GetMaxBatchSize() != 8 {
		t.Errorf("got %v, %v", after, err)
	}
	// One that somebody else loaded anew is found after a while.
	servertest.Write(t, folder, map[string]string{"a/config.pbtxt": strings.Replace(servertest.MapConfig("add"), "max_batch_size: 8", "max_batch_size: 4", 1)})
	if err := load(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the configuration is found", func() bool {
		cfg, err := f.Catalog().Config("a", "")
		return err == nil && cfg.GetMaxBatchSize() == 4
	})
	changed("unloaded", true, func() error { return s.Registry.Unload(t.Context(), "a") })
	changed("loaded", true, load)
	changed("another version", true, func() error {
		servertest.Write(t, folder, map[string]string{"a/2/": ""})
		return load()
	})
	if cfg, err := f.Catalog().Config("a", "1"); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("the old version is still there: %v, %v", cfg, err)
	}
}

// TestOrders go to every replica, whether or not the model is ready there.
func TestOrders(t *testing.T) {
	t.Parallel()
	one, two, other := serve(t, "", 1, "a"), serve(t, "", 2, "a"), serve(t, "", 3, "b")
	if err := two.Registry.Unload(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	f := start(t, one.Address, two.Address, other.Address)
	load := func(name string) func(inference.GRPCInferenceServiceClient) error {
		return func(c inference.GRPCInferenceServiceClient) error {
			_, err := c.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: name})
			return err
		}
	}
	if err := f.Each("a", true, load("a")); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*servertest.Server{one, two} {
		if err := s.Registry.Ready(); err != nil || len(s.Registry.Index(true)) != 1 {
			t.Errorf("index %v, %v", s.Registry.Index(true), err)
		}
	}
	if other.Registry.Has("a") {
		t.Error("who does not claim it was asked too")
	}
	// One that nobody claims is offered to all; what says most is reported.
	err := f.Each("nobody", false, load("nobody"))
	if failure.KindOf(err) != failure.NotFound || failure.Message(err) != `model "nobody" is not in the repository` {
		t.Errorf("got %v", err)
	}
	// A replica that is away is no success.
	two.Kill()
	if err := f.Each("a", true, load("a")); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("got %v", err)
	}
	if err := f.Each("a", false, load("a")); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestOrdersToNobody(t *testing.T) {
	t.Parallel()
	order := func(inference.GRPCInferenceServiceClient) error {
		t.Error("somebody was asked")
		return nil
	}
	if err := start(t).Each("a", true, order); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("without upstreams: %v", err)
	}
	address := testkit.FreeAddress(t)
	err := start(t, address).Each("a", true, order)
	if failure.KindOf(err) != failure.Unavailable || failure.Message(err) != address+" is not available" {
		t.Errorf("with one that never was there: %v", err)
	}
	f := start(t, "no-such-host.invalid:1")
	if err := f.Ready(); failure.Message(err) != "no-such-host.invalid:1 can't be resolved" {
		t.Errorf("with one that can't be resolved: %v", err)
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	s := serve(t, "", 1, "a")
	f := start(t, s.Address)
	ask := func(name string) (*inference.ModelMetadataResponse, error) {
		return upstream.Ask(t.Context(), f, name, "", &inference.ModelMetadataRequest{Name: name},
			func(c inference.GRPCInferenceServiceClient, ctx context.Context, req *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
				return c.ModelMetadata(ctx, req)
			})
	}
	if m, err := ask("a"); err != nil || m.GetName() != "a" {
		t.Errorf("got %v, %v", m, err)
	}
	if _, err := ask("b"); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("got %v", err)
	}
}

// TestStop may come before the start, twice, and in the middle of a round.
func TestStop(t *testing.T) {
	t.Parallel()
	newFleet := func(address string) *upstream.Fleet {
		f, err := upstream.New(settings(time.Hour, address), rpc.DefaultConfig(), telemetry.Discard())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	stop := func(f *upstream.Fleet) {
		begun := time.Now()
		for range 2 {
			if err := f.Part().Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("stopping took %s", took)
		}
	}
	unstarted := newFleet("127.0.0.1:1")
	stop(unstarted)
	if err := unstarted.Part().Start(t.Context()); err == nil {
		t.Error("it starts after it was stopped")
	}

	asked := make(chan struct{}, 1)
	folder := servertest.Repository(t, map[string]string{})
	slow := servertest.Start(t, servertest.Options{Folders: []string{folder}, Wrap: hanging(asked)})
	f := newFleet(slow.Address)
	if err := f.Part().Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.Part().Start(t.Context()); err == nil {
		t.Error("it starts twice")
	}
	<-asked // the round is under way
	stop(f)
	if f.Settled() == nil {
		t.Error("a round that was cut off counts")
	}
}

// TestSilence is a replica that takes connections and never answers: it counts as
// away, with its name.
func TestSilence(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{})
	slow := servertest.Start(t, servertest.Options{Folders: []string{folder}, Wrap: hanging(make(chan struct{}, 100))})
	good := serve(t, "", 1, "a")
	f := start(t, slow.Address, good.Address)
	if err := f.Ready(); failure.KindOf(err) != failure.Unavailable || failure.Message(err) != slow.Address+" does not answer" {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]float32{1, 2}, infer(t, f, "a", 0, 1)); diff != "" {
		t.Error(diff)
	}
}
