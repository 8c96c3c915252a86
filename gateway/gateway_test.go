package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triptych/gateway"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/stage"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// settings are those of a gateway on free ports with one model of a misspelt
// backend.
func settings(t *testing.T) (stage.Config, gateway.Config) {
	t.Helper()
	folder := t.TempDir()
	model := filepath.Join(folder, "odd")
	if err := os.Mkdir(model, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(model, "config.pbtxt"), []byte(`backend: "onnxruntme"`), 0o600); err != nil {
		t.Fatal(err)
	}
	common, cfg := stage.DefaultConfig(), gateway.DefaultConfig()
	common.Repository = []string{folder}
	common.GRPCAddress, common.Admin.Address, cfg.Front.Address = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Upstreams.Interval = 10 * time.Millisecond
	return common, cfg
}

// running is a gateway that is ready, and runs until the test ends.
func running(t *testing.T, common stage.Config, cfg gateway.Config) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(t.Context(), common, cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- g.Run(ctx, func() { close(started) }) }()
	<-started
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	testkit.Eventually(t, patience, "the gateway is ready", func() bool { return g.Ready() == nil })
	return g
}

func TestRun(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	common, cfg := settings(t)
	g, err := gateway.New(t.Context(), common, cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- g.Run(ctx, func() { close(started) }) }()
	<-started
	for !g.SettledSince(time.Time{}) {
		time.Sleep(time.Millisecond)
	}
	if err := g.Ready(); err != nil {
		t.Errorf("a gateway without ensembles is not ready: %v", err)
	}
	resp, err := http.Post("http://"+g.HTTPAddress()+"/v2/repository/index", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	var index []struct{ Name, State, Reason string }
	err = json.NewDecoder(resp.Body).Decode(&index)
	_ = resp.Body.Close()
	if err != nil || len(index) != 1 || index[0].State != "UNAVAILABLE" || index[0].Reason != `no service has the backend "onnxruntme"` {
		t.Errorf("index is %+v (%v), want the misspelt backend named", index, err)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := g.Ready(); err == nil {
		t.Error("ready after the end")
	}
}

// Both doors lead into one room, which is set once.
func TestBothDoorsAreAdmitted(t *testing.T) {
	common, cfg := settings(t)
	cfg.Admission.MaxBytes = 1000
	g := running(t, common, cfg)
	resp, err := http.Post("http://"+g.HTTPAddress()+"/v2/models/odd/infer", "application/json", strings.NewReader(strings.Repeat(" ", 2000)))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), "all that is admitted") {
		t.Errorf("HTTP: %d %s", resp.StatusCode, text)
	}
	conn, err := grpc.NewClient(g.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = inference.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), &inference.ModelInferRequest{ModelName: "odd", RawInputContents: [][]byte{make([]byte, 2000)}})
	if err = failure.FromStatus(err, "the gateway"); failure.KindOf(err) != failure.TooLarge || !strings.Contains(failure.Message(err), "all that is admitted") {
		t.Errorf("gRPC: %v", err)
	}
}

// The room must fit the largest body that is allowed.
func TestConfig(t *testing.T) {
	cfg := gateway.DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	cfg.Admission.MaxBytes = cfg.Front.MaxBody - 1
	if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), "--max-bytes-in-flight ") {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*stage.Config, *gateway.Config){
		"no repository": func(s *stage.Config, _ *gateway.Config) { s.Repository = []string{"absent"} },
		"an upstream that is none": func(_ *stage.Config, g *gateway.Config) {
			g.Upstreams.Addresses = []string{"127.0.0.1:1", "nope://\x7f"}
		},
		"no HTTP bound": func(_ *stage.Config, g *gateway.Config) {
			g.Front.MaxBody = 0
			g.Upstreams.Addresses = []string{"127.0.0.1:1"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			common, cfg := settings(t)
			change(&common, &cfg)
			if _, err := gateway.New(t.Context(), common, cfg, io.Discard); err == nil {
				t.Error("made")
			}
		})
	}
}
