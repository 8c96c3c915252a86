package stage_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triptych/shared/app"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
)

func TestPortsOpenBeforeModelsLoad(t *testing.T) {
	backend := &toy{gate: make(chan struct{})}
	r := run(t, newStage(t, settings(t), backend))
	if status, body := r.ask(t, "/readyz"); status != 503 || body != "models are loading" {
		t.Errorf("readyz says %d %q", status, body)
	}
	if status, body := r.ask(t, "/livez"); status != 200 || body != "ok" {
		t.Errorf("livez says %d %q", status, body)
	}
	for !backend.loading.Load() {
		time.Sleep(time.Millisecond)
	}
	if err := r.infer(t); status.Code(err) != codes.Unavailable || !strings.Contains(strings.ToLower(err.Error()), "loading") {
		t.Errorf("a call gets %v", err)
	}
	close(backend.gate)
	r.ready(t)
	if err := r.infer(t); err != nil {
		t.Error(err)
	}
	r.end()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if backend.models.Load() != 0 || !backend.closed.Load() {
		t.Errorf("%d models are open, the backend's Close was called: %t", backend.models.Load(), backend.closed.Load())
	}
}

// A loop that has stopped turning is no matter of readiness: only a restart helps.
func TestLiveness(t *testing.T) {
	s := newStage(t, settings(t), opened())
	var stuck atomic.Bool
	s.Watch(func() error {
		if stuck.Load() {
			return failure.New(failure.Internal, "discovery stands still")
		}
		return nil
	})
	r := run(t, s)
	r.ready(t)
	if status, body := r.ask(t, "/livez"); status != 200 || body != "ok" {
		t.Errorf("livez says %d %q", status, body)
	}
	stuck.Store(true)
	if status, body := r.ask(t, "/livez"); status != 503 || body != "discovery stands still" {
		t.Errorf("livez of a loop that stands still says %d %q", status, body)
	}
	r.ready(t)
	r.end()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
}

// watched is a toy that can stop turning.
type watched struct {
	*toy
	stuck atomic.Bool
}

func (w *watched) Name() string { return "watched" }

func (w *watched) Live() error {
	if w.stuck.Load() {
		return failure.New(failure.Internal, "the device does not answer")
	}
	return nil
}

// One stage serves the models of several backends, asks each that can tell
// whether it lives, and closes them all.
func TestSeveralBackends(t *testing.T) {
	toys, alive := opened(), &watched{toy: opened()}
	s, err := stage.NewWithBackends(t.Context(), "toys", settings(t), io.Discard, func(*telemetry.Telemetry) ([]modelserver.Backend, error) {
		return []modelserver.Backend{alive, toys}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, s)
	r.ready(t)
	if err := r.infer(t); err != nil {
		t.Error(err)
	}
	if status, body := r.ask(t, "/livez"); status != 200 || body != "ok" {
		t.Errorf("livez says %d %q", status, body)
	}
	alive.stuck.Store(true)
	if status, body := r.ask(t, "/livez"); status != 503 || body != "the device does not answer" {
		t.Errorf("livez of a backend that is stuck says %d %q", status, body)
	}
	r.end()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if !toys.closed.Load() || !alive.closed.Load() {
		t.Error("a backend is not closed")
	}
}

func TestDrain(t *testing.T) {
	cfg := settings(t)
	cfg.App.DrainDelay = time.Second
	r := run(t, newStage(t, cfg, opened()))
	r.ready(t)
	begin := time.Now()
	r.end()
	for { // the app notices the end in its own time
		if status, body := r.ask(t, "/readyz"); status == 503 {
			if body != "draining" {
				t.Errorf("readyz says %q", body)
			}
			break
		}
	}
	if err := r.infer(t); err != nil {
		t.Errorf("a call during the drain: %v", err)
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("served for %s after the end was asked for, want 1s", took)
	}
	for name, address := range map[string]string{"gRPC": r.GRPCAddress(), "admin": r.AdminAddress()} {
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			conn.Close()
			t.Errorf("the %s port is still open", name)
		}
	}
}

// A backend that hangs in a C library while it loads does not hold the end, and
// is not given back meanwhile.
func TestTheEndDuringALoad(t *testing.T) {
	for name, deaf := range map[string]bool{"heeds its context": false, "is deaf": true} {
		t.Run(name, func(t *testing.T) {
			backend := &toy{gate: make(chan struct{}), deaf: deaf}
			cfg := settings(t)
			cfg.App.StopTimeout = 300 * time.Millisecond
			r := run(t, newStage(t, cfg, backend))
			for !backend.loading.Load() {
				time.Sleep(time.Millisecond)
			}
			r.end()
			err := r.wait(t)
			switch {
			case !deaf && err != nil:
				t.Error(err)
			case deaf && (failure.KindOf(err) != failure.Deadline || failure.Message(err) != "a model was still loading"):
				t.Errorf("got %v", err)
			}
			if backend.closed.Load() == deaf {
				t.Errorf("the backend's Close was called: %t", backend.closed.Load())
			}
			close(backend.gate)
		})
	}
}

func TestTheParts(t *testing.T) {
	cfg := settings(t)
	s := newStage(t, cfg, opened())
	notYet := failure.New(failure.Unavailable, "no upstream")
	s.Require(func() error { return notYet })
	s.Handle("GET /own", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "mine") }))
	broke := make(chan error, 1)
	var order []string
	s.Add(app.Part{
		Name:   "own",
		Start:  func(context.Context) error { order = append(order, "start"); return nil },
		Stop:   func(context.Context) error { order = append(order, "stop"); return nil },
		Failed: broke,
	})
	r := run(t, s)
	if status, body := r.ask(t, "/readyz"); status != 503 || body != "no upstream" {
		t.Errorf("readyz says %d %q", status, body)
	}
	if status, body := r.ask(t, "/own"); status != 200 || body != "mine" {
		t.Errorf("/own says %d %q", status, body)
	}
	broke <- errors.New("lost it")
	if err := r.wait(t); err == nil || err.Error() != "own ended: lost it" {
		t.Errorf("got %v", err)
	}
	if strings.Join(order, " ") != "start stop" {
		t.Errorf("order is %v", order)
	}
}

func TestABusyPortEndsTheRun(t *testing.T) {
	first := run(t, newStage(t, settings(t), opened()))
	for flag, take := range map[string]func(*stage.Config){
		"--grpc-address":  func(c *stage.Config) { c.GRPCAddress = first.GRPCAddress() },
		"--admin-address": func(c *stage.Config) { c.Admin.Address = first.AdminAddress() },
	} {
		cfg := settings(t)
		take(&cfg)
		backend := opened()
		s := newStage(t, cfg, backend)
		err := s.Run(t.Context(), s.Service, func() { t.Error("started") })
		if err == nil || !strings.Contains(err.Error(), "address already in use") || !strings.Contains(err.Error(), flag) {
			t.Errorf("got %v", err)
		}
		if backend.models.Load() != 0 {
			t.Error("a model is still open")
		}
	}
	first.end()
	if err := first.wait(t); err != nil {
		t.Error(err)
	}
}

// `triptych up` runs four stages in one process: nothing of one is the other's.
func TestTwoStagesInOneProcess(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	cfg := settings(t)
	cfg.Telemetry.OTLPEndpoint = l.Addr().String() // a collector that is down
	a, b := run(t, newStage(t, cfg, opened())), run(t, newStage(t, settings(t), opened()))
	a.ready(t)
	b.ready(t)
	for range 3 {
		if err := a.infer(t); err != nil {
			t.Error(err)
		}
	}
	if err := b.infer(t); err != nil {
		t.Error(err)
	}
	if got := successes(t, a); got != 3 {
		t.Errorf("the first counts %v, want 3", got)
	}
	if got := successes(t, b); got != 1 {
		t.Errorf("the second counts %v, want 1", got)
	}
	a.end()
	if err := a.wait(t); err != nil {
		t.Error(err)
	}
	if err := b.infer(t); err != nil {
		t.Errorf("the second after the end of the first: %v", err)
	}
	b.end()
	if err := b.wait(t); err != nil {
		t.Error(err)
	}
}

// successes is nv_inference_request_success of all models.
func successes(t *testing.T, r *running) (sum float64) {
	t.Helper()
	families, err := r.Telemetry.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "nv_inference_request_success" {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func TestWhatCannotBeMade(t *testing.T) {
	backend := opened()
	made := func(*telemetry.Telemetry) ([]modelserver.Backend, error) { return stage.One(backend, nil) }
	nowhere := settings(t)
	nowhere.Repository = []string{filepath.Join(t.TempDir(), "absent")}
	_, err := stage.NewWithBackends(t.Context(), "toys", nowhere, io.Discard, made)
	if err == nil || !strings.Contains(err.Error(), "absent") || !backend.closed.Load() {
		t.Errorf("got %v, the backend's Close was called: %t", err, backend.closed.Load())
	}
	_, err = stage.NewWithBackends(t.Context(), "toys", settings(t), io.Discard, func(*telemetry.Telemetry) ([]modelserver.Backend, error) {
		var none *toy // a constructor's nil of its own type, which is no nil Backend
		return stage.One(none, errors.New("no library"))
	})
	if err == nil || err.Error() != "no library" {
		t.Errorf("got %v", err)
	}
	bare, err := stage.New(t.Context(), "toys", settings(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := bare.Run(t.Context(), nil, func() {}); err == nil || err.Error() != "toys runs without models" {
		t.Errorf("got %v", err)
	}
}
