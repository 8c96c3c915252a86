// Package front is the HTTP side of the gateway: it admits requests, gives them
// an id, a trace and a deadline, bounds their bodies, and writes every failure
// in one form. It serves the routes of others and has none of its own.
package front

import (
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"triptych/gateway/admission"
	"triptych/gateway/classify"
	"triptych/gateway/rest"
	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/app"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// Front is the HTTP server of the gateway. Safe for concurrent use.
type Front struct {
	cfg       Config
	engine    *gin.Engine
	logger    *slog.Logger
	tracer    trace.Tracer
	carrier   propagation.TraceContext
	metrics   *metrics
	admission *admission.Admission
	server    *app.HTTPServer
	draining  atomic.Bool
}

// New makes a front that asks server while there is room, gives requests that need
// not be answered at once to background, which may be nil, and serves further routes
// beside /v1/classify and /v2. It does not listen before Start.
func New(cfg Config, server inference.GRPCInferenceServiceServer, room *admission.Admission, tel *telemetry.Telemetry, background rest.Background, further ...web.Route) (*Front, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	f := &Front{
		cfg:       cfg,
		logger:    tel.Logger,
		tracer:    tel.Tracer,
		admission: room,
	}
	var err error
	if f.metrics, err = newMetrics(tel.Registry); err != nil {
		return nil, err
	}
	server = room.Models(server)
	routes := append(rest.New(server, background).Routes(), classify.New(cfg.Classify, server).Routes()...)
	if f.engine, err = f.newEngine(append(routes, further...)); err != nil {
		return nil, err
	}
	f.server = f.newServer()
	return f, nil
}

// newEngine makes gin's engine. Redirects are off: a path is right or it is not.
func (f *Front) newEngine(routes []web.Route) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	engine.HandleMethodNotAllowed = true
	// A "%2f" in a model's name stays in its name.
	engine.UseRawPath = true
	engine.Use(f.observe, secure)
	engine.NoRoute(f.noRoute)
	engine.NoMethod(f.noMethod)
	return engine, failure.Guard("the routes clash", func() error { // gin panics on routes that clash
		for _, route := range routes {
			engine.Handle(route.Method, route.Path, f.serve(route))
		}
		return nil
	})
}

// Handler is the front without its listener.
func (f *Front) Handler() http.Handler { return f.engine }

// secure sets the headers that keep browsers from doing more with an answer
// than reading it.
func secure(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
}
