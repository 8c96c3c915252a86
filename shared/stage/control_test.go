package stage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/stage"
	"triptych/shared/testkit"
)

func TestControlSettings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(c *stage.Control)
		want   string
	}{
		"default":        {func(*stage.Control) {}, ""},
		"poll":           {func(c *stage.Control) { c.Mode = "poll" }, ""},
		"all by name":    {func(c *stage.Control) { c.Mode, c.Load = "explicit", []string{"*"} }, ""},
		"two":            {func(c *stage.Control) { c.Mode, c.Load = "explicit", []string{"a", "b"} }, ""},
		"mode":           {func(c *stage.Control) { c.Mode = "POLL" }, "--model-control-mode is \"POLL\""},
		"names and none": {func(c *stage.Control) { c.Load = []string{"a"} }, "--load-model goes only with --model-control-mode explicit"},
		"names and poll": {func(c *stage.Control) { c.Mode, c.Load = "poll", []string{"a"} }, "--load-model goes only with"},
		"all and one":    {func(c *stage.Control) { c.Mode, c.Load = "explicit", []string{"*", "b"} }, "--load-model is \"*\" and names beside it"},
		"no pause":       {func(c *stage.Control) { c.PollInterval = 0 }, "--repository-poll-interval is 0s"},
		"settle":         {func(c *stage.Control) { c.Settle = -1 }, "--repository-settle-time is -1ns"},
		"no threads":     {func(c *stage.Control) { c.Threads = 0 }, "--model-load-threads is 0"},
		"timeout":        {func(c *stage.Control) { c.Timeout = -1 }, "--model-load-timeout is -1ns"},
		"retries":        {func(c *stage.Control) { c.Retries = -1 }, "--model-load-retry-count is -1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := stage.DefaultControl()
			test.change(&c)
			err := c.Validate()
			if (err == nil) != (test.want == "") || (err != nil && !strings.HasPrefix(failure.Message(err), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// models counts the models that are ready, and those that are known.
func (r *running) models() (ready, known int) {
	return len(r.Registry.Index(true)), len(r.Registry.Index(false))
}

func load(t *testing.T, r *running, model string) error {
	t.Helper()
	_, err := r.Service.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: model})
	return err
}

func TestExplicitControl(t *testing.T) {
	for name, test := range map[string]struct {
		load  []string
		ready int
	}{"nothing": {nil, 0}, "one": {[]string{"echo"}, 1}, "all": {[]string{"*"}, 1}} {
		t.Run(name, func(t *testing.T) {
			cfg := settings(t)
			cfg.Control.Mode, cfg.Control.Load = "explicit", test.load
			r := run(t, newStage(t, cfg, opened()))
			r.ready(t)
			if ready, known := r.models(); ready != test.ready || known != 1 {
				t.Errorf("%d models are ready of %d", ready, known)
			}
			if err := load(t, r, "echo"); err != nil {
				t.Error(err)
			}
			if err := r.infer(t); err != nil {
				t.Error(err)
			}
			r.end()
			if err := r.wait(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// A load by request that is under way does not hold the end for as long as a call
// may: its caller is told, and what it would bring nobody would use.
func TestTheEndDuringALoadByRequest(t *testing.T) {
	cfg := settings(t)
	cfg.Control.Mode = "explicit"
	cfg.App.StopTimeout = 15 * time.Second
	backend := &toy{gate: make(chan struct{})}
	r := run(t, newStage(t, cfg, backend))
	r.ready(t)
	conn, err := grpc.NewClient(r.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	loaded := make(chan error, 1)
	go func() {
		_, err := inference.NewGRPCInferenceServiceClient(conn).RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: "echo"})
		loaded <- err
	}()
	testkit.Eventually(t, 10*time.Second, "the load has begun", backend.loading.Load)
	begin := time.Now()
	r.end()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the end took %s", took)
	}
	if err := <-loaded; status.Code(err) != codes.Unavailable {
		t.Errorf("the one who loads is told %v", err)
	}
}

func TestPollControl(t *testing.T) {
	cfg := settings(t)
	cfg.Control.Mode, cfg.Control.PollInterval, cfg.Control.Settle = "poll", 20*time.Millisecond, 20*time.Millisecond
	backend := opened()
	r := run(t, newStage(t, cfg, backend))
	r.ready(t)
	if err := load(t, r, "echo"); failure.KindOf(err) != failure.Forbidden {
		t.Errorf("a load by request gives %v", err)
	}
	echo := filepath.Join(cfg.Repository[0], "echo")
	if err := os.CopyFS(filepath.Join(cfg.Repository[0], "second"), os.DirFS(echo)); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "the new model is loaded", func() bool { ready, _ := r.models(); return ready == 2 })
	if err := os.RemoveAll(echo); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "the old one is gone", func() bool { return !r.Registry.Has("echo") })
	r.end()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if backend.models.Load() != 0 {
		t.Errorf("%d models are open", backend.models.Load())
	}
}

func TestExitOnError(t *testing.T) {
	for exit, want := range map[bool]string{false: "", true: `models ended: model "echo" can't be loaded: the version_policy of model "echo" picks no version`} {
		cfg := settings(t)
		cfg.Control.ExitOnError = exit
		config := filepath.Join(cfg.Repository[0], "echo", "config.pbtxt")
		if err := os.WriteFile(config, []byte(`backend: "toy" version_policy { specific {} }`), 0o600); err != nil {
			t.Fatal(err)
		}
		r := run(t, newStage(t, cfg, opened()))
		if !exit {
			testkit.Eventually(t, 10*time.Second, "it has tried", r.Registry.Settled)
			if status, body := r.ask(t, "/readyz"); status != 503 || !strings.Contains(body, "picks no version") {
				t.Errorf("readyz says %d %q", status, body)
			}
			r.end()
		}
		err := r.wait(t)
		if (err == nil) != (want == "") || (err != nil && err.Error() != want) {
			t.Errorf("ended with %v, want %q", err, want)
		}
	}
}
