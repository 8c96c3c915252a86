package stage_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
)

// toy is a backend whose models answer with what they are given. A load waits
// for its gate and, unless it is deaf, for its context.
type toy struct {
	gate    chan struct{}
	deaf    bool
	loading atomic.Bool
	models  atomic.Int64 // loaded and not closed
	closed  atomic.Bool
}

func (b *toy) Name() string { return "toy" }

func (b *toy) Load(ctx context.Context, _ modelserver.Spec) (modelserver.Model, error) {
	b.loading.Store(true)
	done := ctx.Done()
	if b.deaf {
		done = nil
	}
	select {
	case <-b.gate:
	case <-done:
		return nil, ctx.Err()
	}
	b.models.Add(1)
	return &toyModel{b}, nil
}

func (b *toy) Close() error {
	b.closed.Store(true)
	return nil
}

type toyModel struct{ backend *toy }

func (m *toyModel) Infer(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	in, _ := oip.Input(req, "x")
	resp := &inference.ModelInferResponse{}
	oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: in.Datatype, Shape: in.Shape, Data: in.Data})
	return resp, nil
}

func (m *toyModel) Close() error {
	m.backend.models.Add(-1)
	return nil
}

func opened() *toy {
	b := &toy{gate: make(chan struct{})}
	close(b.gate)
	return b
}

// repository is a folder with one model of the backend toy.
func repository(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "models")
	if err := os.MkdirAll(filepath.Join(dir, "echo", "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	const config = `backend: "toy"
input { name: "x" data_type: TYPE_UINT8 dims: 3 }
output { name: "y" data_type: TYPE_UINT8 dims: 3 }`
	if err := os.WriteFile(filepath.Join(dir, "echo", "config.pbtxt"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func settings(t *testing.T) stage.Config {
	t.Helper()
	cfg := stage.DefaultConfig()
	cfg.Repository = []string{repository(t)}
	cfg.GRPCAddress, cfg.Admin.Address = "127.0.0.1:0", "127.0.0.1:0"
	return cfg
}

func newStage(t *testing.T, cfg stage.Config, backend modelserver.Backend) *stage.Stage {
	t.Helper()
	s, err := stage.NewWithBackends(t.Context(), "toys", cfg, io.Discard, func(*telemetry.Telemetry) ([]modelserver.Backend, error) { return stage.One(backend, nil) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// running is a stage that runs; end asks for its end, and wait waits for it.
type running struct {
	*stage.Stage
	end  context.CancelFunc
	done chan error
}

func run(t *testing.T, s *stage.Stage) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{Stage: s, end: cancel, done: make(chan error, 1)}
	started := make(chan struct{})
	go func() { r.done <- s.Run(ctx, s.Service, func() { close(started) }) }()
	select {
	case <-started:
	case err := <-r.done:
		t.Fatalf("the stage ended: %v", err)
	case <-time.After(10 * time.Second):
		t.Fatal("the ports are not open")
	}
	return r
}

func (r *running) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the stage does not end")
		return nil
	}
}

// ask gets a page of the admin port: the status and the first line.
func (r *running) ask(t *testing.T, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + r.AdminAddress() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(body), "\n")
	return resp.StatusCode, first
}

func (r *running) ready(t *testing.T) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		status, body := r.ask(t, "/readyz")
		if status == http.StatusOK {
			return
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("not ready: %d %s", status, body)
		}
	}
}

// infer asks the model once, on a connection of its own.
func (r *running) infer(t *testing.T) error {
	t.Helper()
	conn, err := grpc.NewClient(r.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	req := &inference.ModelInferRequest{ModelName: "echo"}
	oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "UINT8", Shape: []int64{3}, Data: []byte{1, 2, 3}})
	resp, err := inference.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), req)
	if err == nil && !bytes.Equal(resp.GetRawOutputContents()[0], []byte{1, 2, 3}) {
		t.Errorf("the answer is %v", resp)
	}
	return err
}

// text is a writer that can be read while it is written.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *text) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *text) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}
