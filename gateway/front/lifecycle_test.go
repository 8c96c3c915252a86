package front_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"triptych/gateway/front"
	"triptych/gateway/internal/fronttest"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

func TestDeadlines(t *testing.T) {
	g := newGate()
	s := fronttest.StartWith(t, server(), g.routes(), func(c *fronttest.Config) { c.RequestTimeout = 100 * time.Millisecond })
	for name, headers := range map[string][]string{"ours": nil, "the caller's": {"triptych-timeout-ms", "20"}, "beyond ours": {"Triptych-Timeout-Ms", "9999999999999"}} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			a := s.Post("/gate", []byte("x"), headers...)
			if a.Status != http.StatusGatewayTimeout || a.Failure().Code != "DEADLINE" || time.Since(start) > 2*time.Second {
				t.Errorf("%d %s after %v", a.Status, a.Body, time.Since(start))
			}
		})
	}
	for _, text := range []string{"0", "-1", "1.5", "soon"} {
		if a := s.Post("/gate", nil, "triptych-timeout-ms", text); a.Status != http.StatusBadRequest {
			t.Errorf("%q: %d", text, a.Status)
		}
	}
}

func TestCallerGoes(t *testing.T) {
	g := newGate()
	s := fronttest.StartWith(t, server(), g.routes())
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/gate", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		resp, err := s.Client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			t.Error("there is an answer")
		}
	})
	<-g.arrived
	cancel()
	if cause := <-g.ended; !errors.Is(cause, context.Canceled) {
		t.Error(cause)
	}
	waiting.Wait()
	for !strings.Contains(s.Log.String(), `"status":499`) {
		if t.Context().Err() != nil {
			t.Fatal(s.Log)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestDrainAndStop(t *testing.T) {
	g := newGate()
	s := fronttest.StartWith(t, server(), g.routes())
	if a := s.Get("/v2"); a.Header.Get("Connection") != "" {
		t.Error("a connection is closed for no reason")
	}
	s.Drain()
	resp, err := s.Client.Get(s.URL + "/v2")
	if err != nil || !resp.Close || resp.StatusCode != http.StatusOK {
		t.Fatalf("while it drains: %v %v", resp, err)
	}
	_ = resp.Body.Close()
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if a := s.Post("/gate", []byte("x")); a.Status != http.StatusOK {
			t.Errorf("the request in flight: %d %s", a.Status, a.Body)
		}
	})
	<-g.arrived
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.Background()) }()
	for {
		conn, err := net.Dial("tcp", s.Address())
		if err != nil {
			break // no new connections
		}
		_ = conn.Close()
	}
	select {
	case err := <-stopped:
		t.Fatalf("stopped with a request in flight: %v", err)
	default:
	}
	close(g.open)
	waiting.Wait()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("stopped twice: %v", err)
	}
}

func TestStopCuts(t *testing.T) {
	g := newGate()
	s := fronttest.StartWith(t, server(), g.routes())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		resp, err := s.Client.Post(s.URL+"/gate", "", strings.NewReader("x"))
		if err == nil {
			_ = resp.Body.Close()
		}
	})
	<-g.arrived
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); failure.KindOf(err) != failure.Deadline {
		t.Error(err)
	}
	<-g.ended
	waiting.Wait()
}

func TestStartFails(t *testing.T) {
	s := fronttest.Start(t, server())
	cfg := front.DefaultConfig()
	cfg.Address = s.Address()
	f, err := front.New(cfg, server(), room(t), telemetry.Discard(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(t.Context()); err == nil || !strings.Contains(failure.Message(err), "--http-address") || !strings.Contains(failure.Message(err), "address already in use") {
		t.Errorf("a busy port: %v", err)
	}
	if err := f.Stop(t.Context()); err != nil || f.Address() != cfg.Address {
		t.Errorf("stopped without a start: %v", err)
	}
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "is served already") {
		t.Errorf("started twice: %v", err)
	}
	select {
	case err := <-s.Part("").Failed:
		t.Error(err)
	default:
	}
}
