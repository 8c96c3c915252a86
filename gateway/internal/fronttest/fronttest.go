// Package fronttest runs the HTTP front on a port of its own for tests, with a
// client, its log and its spans.
package fronttest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"triptych/gateway/admission"
	"triptych/gateway/front"
	"triptych/gateway/rest"
	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/telemetry"
)

// Server is a front that runs.
type Server struct {
	*front.Front
	tb       testing.TB
	URL      string
	Client   *http.Client
	Log      *Log
	Spans    *tracetest.SpanRecorder
	Registry *prometheus.Registry
}

// Log collects log lines. Safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all of the log.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Config is the settings of a front and of the room that it admits to, and what
// takes requests that need not be answered at once.
type Config struct {
	front.Config
	Room       admission.Config
	Background rest.Background
}

// Start runs a front before server until the test ends.
func Start(tb testing.TB, server inference.GRPCInferenceServiceServer, configure ...func(*Config)) *Server {
	tb.Helper()
	return StartWith(tb, server, nil, configure...)
}

// StartWith is Start with further routes.
func StartWith(tb testing.TB, server inference.GRPCInferenceServiceServer, routes []web.Route, configure ...func(*Config)) *Server {
	tb.Helper()
	cfg := Config{Config: front.DefaultConfig(), Room: admission.DefaultConfig()}
	cfg.Address = "127.0.0.1:0"
	for _, c := range configure {
		c(&cfg)
	}
	s := &Server{tb: tb, Log: &Log{}, Spans: tracetest.NewSpanRecorder()}
	logging := telemetry.DefaultConfig()
	logging.LogFormat = "json"
	tel, err := telemetry.New(tb.Context(), "gateway", logging, s.Log)
	if err != nil {
		tb.Fatal(err)
	}
	tel.Tracer = trace.NewTracerProvider(trace.WithSpanProcessor(s.Spans)).Tracer("test")
	s.Registry = tel.Registry
	room, err := admission.New(cfg.Room, tel.Registry)
	if err != nil {
		tb.Fatal(err)
	}
	if s.Front, err = front.New(cfg.Config, server, room, tel, cfg.Background, routes...); err != nil {
		tb.Fatal(err)
	}
	if err := s.Front.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	s.URL = "http://" + s.Address()
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	s.Client = &http.Client{Transport: transport, Timeout: time.Minute}
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Failure is the document of an answer that failed.
type Failure struct {
	Error     string `json:"error"`
	Code      string `json:"code"`
	RequestID string `json:"request_id"`
}

// Failure reads the document; empty when it is none.
func (a Answer) Failure() Failure {
	var f Failure
	_ = json.Unmarshal(a.Body, &f)
	return f
}

// Get asks for a path.
func (s *Server) Get(path string) Answer { return s.Do(http.MethodGet, path, nil) }

// Post sends a body; headers are name, value, name, value.
func (s *Server) Post(path string, body []byte, headers ...string) Answer {
	return s.Do(http.MethodPost, path, bytes.NewReader(body), headers...)
}

// Do sends a request and reads the answer.
func (s *Server) Do(method, path string, body io.Reader, headers ...string) Answer {
	s.tb.Helper()
	req, err := http.NewRequestWithContext(s.tb.Context(), method, s.URL+path, body)
	if err != nil {
		s.tb.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.tb.Fatal(err)
	}
	return Answer{resp.StatusCode, resp.Header, data}
}
