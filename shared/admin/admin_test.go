package admin_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/shared/admin"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// serve starts an admin port with the given probes' errors.
func serve(t *testing.T, address string, live, ready error) *admin.Server {
	t.Helper()
	tel := telemetry.Discard()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "apples_total", Help: "Apples."})
	counter.Add(3)
	if err := tel.Registry.Register(counter); err != nil {
		t.Fatal(err)
	}
	health := admin.Health{Live: func() error { return live }, Ready: func() error { return ready }}
	server := admin.New(admin.Config{Address: address}, health, tel)
	server.Handle("GET /own", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "mine") }))
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return server
}

func ask(t *testing.T, server *admin.Server, method, path string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+server.Address()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

func TestRoutes(t *testing.T) {
	well := serve(t, "127.0.0.1:0", nil, nil)
	ill := serve(t, "127.0.0.1:0", errors.New("secret"), failure.Wrap(errors.New("secret"), failure.Unavailable, "models are loading"))
	tests := map[string]struct {
		server *admin.Server
		method string
		path   string
		status int
		body   string // the whole of it, or what "..." leaves out
	}{
		"live":             {well, http.MethodGet, "/livez", 200, "ok\n"},
		"ready":            {well, http.MethodGet, "/readyz", 200, "ok\n"},
		"not live":         {ill, http.MethodGet, "/livez", 503, "internal error\n"},
		"not ready":        {ill, http.MethodGet, "/readyz", 503, "models are loading\n"},
		"probed by HEAD":   {well, http.MethodHead, "/readyz", 200, ""},
		"not changed":      {well, http.MethodPost, "/readyz", 405, "Method Not Allowed\n"},
		"version":          {well, http.MethodGet, "/version", 200, telemetry.Version() + "\n"},
		"metrics":          {well, http.MethodGet, "/metrics", 200, "...\napples_total 3\n"},
		"metrics when ill": {ill, http.MethodGet, "/metrics", 200, "...\napples_total 3\n"},
		"profiles":         {well, http.MethodGet, "/debug/pprof/", 200, "...goroutine..."},
		"one profile":      {well, http.MethodGet, "/debug/pprof/goroutine?debug=1", 200, "goroutine profile: ..."},
		"own route":        {well, http.MethodGet, "/own", 200, "mine"},
		"unknown":          {well, http.MethodGet, "/", 404, "404 page not found\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status, header, body := ask(t, tt.server, tt.method, tt.path)
			if status != tt.status || !like(body, tt.body) {
				t.Errorf("got %d %q, want %d %q", status, body, tt.status, tt.body)
			}
			if strings.HasSuffix(tt.path, "z") && status != 405 && header.Get("Cache-Control") != "no-store" {
				t.Error("a probe's answer may be cached")
			}
		})
	}
}

// like compares a text to a pattern with "..." for anything at either end.
func like(text, pattern string) bool {
	pattern, open := strings.CutPrefix(pattern, "...")
	pattern, rest := strings.CutSuffix(pattern, "...")
	switch {
	case open && rest:
		return strings.Contains(text, pattern)
	case open:
		return strings.HasSuffix(text, pattern)
	case rest:
		return strings.HasPrefix(text, pattern)
	default:
		return text == pattern
	}
}

func TestCheck(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	everywhere := serve(t, ":0", nil, nil).Address() // [::]:PORT, asked on loopback
	_, port, err := net.SplitHostPort(everywhere)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ address, message string }{
		"ready":         {serve(t, "127.0.0.1:0", nil, nil).Address(), ""},
		"not ready":     {serve(t, "127.0.0.1:0", nil, failure.New(failure.Unavailable, "models are loading")).Address(), "not ready: models are loading"},
		"every address": {everywhere, ""},
		"no host":       {":" + port, ""},
		"0.0.0.0":       {"0.0.0.0:" + port, ""},
		"nobody there":  {closed.Addr().String(), "nothing answers at " + closed.Addr().String()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := admin.Check(t.Context(), admin.Config{Address: tt.address})
			switch {
			case err == nil && tt.message == "":
			case err == nil || failure.Message(err) != tt.message || failure.KindOf(err) != failure.Unavailable:
				t.Errorf("got %v, want %q", err, tt.message)
			}
		})
	}
}

// A server that takes the connection and never answers is not ready, soon.
func TestCheckIsBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	begin := time.Now()
	err = admin.Check(t.Context(), admin.Config{Address: l.Addr().String()})
	if took := time.Since(begin); err == nil || took > 4*time.Second {
		t.Errorf("got %v after %s", err, took)
	}
}

func TestConfig(t *testing.T) {
	cfg := admin.DefaultConfig()
	if err := cfg.Validate(); err != nil || cfg.Address != "127.0.0.1:8002" {
		t.Errorf("the default %q is %v", cfg.Address, err)
	}
	cfg.Address = ""
	if err := cfg.Validate(); err == nil || err.Error() != "--admin-address is empty" {
		t.Errorf("got %v", err)
	}
}
