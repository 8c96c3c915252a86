// Package admin serves what operators and probes ask: health, metrics, profiles
// and the version, on a port of its own, so that it answers while the service is
// under load or ends.
package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"

	"triptych/shared/app"
	"triptych/shared/config"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// Config is where the admin port is.
type Config struct {
	Address string
}

var _ config.Section = (*Config)(nil)

// DefaultConfig is the default port on loopback.
func DefaultConfig() Config { return Config{Address: config.AdminAddress} }

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Address, "admin-address", c.Address, "Where health, metrics and profiles are served.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.Address == "" {
		return config.Wrong("admin-address", "is empty")
	}
	return nil
}

// Health is what the probes are told.
type Health struct {
	// Live says why the process should be restarted.
	Live func() error
	// Ready says why no traffic should be sent here.
	Ready func() error
}

// Server is the admin port.
type Server struct {
	*app.HTTPServer
	mux *http.ServeMux
}

// Handle adds a route. Call it before the server starts.
func (s *Server) Handle(pattern string, handler http.Handler) { s.mux.Handle(pattern, handler) }

// New makes the server.
func New(cfg Config, health Health, tel *telemetry.Telemetry) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", probe(health.Live))
	mux.HandleFunc("GET /readyz", probe(health.Ready))
	mux.Handle("GET /metrics", promhttp.HandlerFor(tel.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, telemetry.Version()) })
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	return &Server{app.NewHTTPServer(cfg.Address, server), mux}
}

func probe(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, failure.Message(err))
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// Check asks a running server's readiness: what a container's health check
// calls, for an image without curl.
func Check(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+loopback(cfg.Address)+"/readyz", nil)
	if err != nil {
		return err
	}
	// Asked once, on this machine: no connection to keep and no proxy to ask.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return failure.Wrap(err, failure.Unavailable, "nothing answers at %s", req.URL.Host)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		// The reason is for people: what can be read of it will do.
		reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason))
		return failure.New(failure.Unavailable, "not ready: %s", strings.TrimSpace(string(reason)))
	}
	return nil
}

// maxReason bounds what Check reads of a server's answer.
const maxReason = 512
