package stage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"triptych/proto/inference"
	"triptych/shared/admin"
	"triptych/shared/app"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/modelserver"
	"triptych/shared/rpc"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/worker"
)

// Stage is one service. Make it, give it backends, run it once.
type Stage struct {
	Telemetry *telemetry.Telemetry
	// Registry and Service are the stage's own models; nil before Serve.
	Registry *modelserver.Registry
	Service  *modelserver.Service
	// Jobs is where jobs are stored; nil when there are none.
	Jobs *jobs.Store

	name   string
	config Config
	app    *app.App
	grpc   *rpc.Server
	admin  *admin.Server
	loads  loader
	extra  []app.Part
	live   []func() error
	ready  []func() error
	door   *worker.Door // nil when there are no jobs
	closes []io.Closer  // backends with something of their own to give back
}

// New makes a stage without models. Logs go to logs.
func New(ctx context.Context, name string, cfg Config, logs io.Writer) (*Stage, error) {
	tel, err := telemetry.New(ctx, name, cfg.Telemetry, logs)
	if err != nil {
		return nil, err
	}
	s := &Stage{Telemetry: tel, name: name, config: cfg, app: app.New(cfg.App, tel.Logger)}
	s.loads.failed = make(chan error, 1)
	s.grpc = rpc.NewServer(cfg.GRPCAddress, cfg.RPC, tel)
	s.admin = admin.New(cfg.Admin, admin.Health{Live: s.Live, Ready: s.Ready}, tel)
	if cfg.Stream.Enabled() {
		conn, err := stream.Connect(cfg.Stream, name, tel)
		if err != nil {
			return nil, errors.Join(err, tel.Shutdown(ctx))
		}
		s.Jobs = jobs.New(conn)
		s.Watch(conn.Live)
	}
	return s, nil
}

// Watched is a backend that can stop turning for good. Live says how, as Watch
// wants it.
type Watched interface{ Live() error }

// Serve gives the stage the models of the repository that one of the backends
// claims. They are loaded when the stage runs. A backend that is an io.Closer is
// closed when its models are; one that is Watched counts for liveness.
func (s *Stage) Serve(backends ...modelserver.Backend) error {
	for _, b := range backends {
		if c, ok := b.(io.Closer); ok {
			s.closes = append(s.closes, c)
		}
		if w, ok := b.(Watched); ok {
			s.Watch(w.Live)
		}
	}
	repository, err := modelserver.NewRepository(s.config.Repository...)
	if err != nil {
		return err
	}
	s.Registry, err = modelserver.NewRegistry(repository, s.Telemetry, backends...)
	if err != nil {
		return err
	}
	s.Registry.SetLoadPolicy(s.config.Control.policy())
	s.Registry.LimitResponseCache(s.config.ResponseCacheBytes)
	info := modelserver.Info{Name: "triptych-" + s.name, Version: telemetry.Version()}
	s.Service = modelserver.NewService(info, s.Registry, s.config.Control.Mode == controlExplicit)
	if s.Jobs == nil {
		return nil
	}
	s.door, err = worker.New(s.config.Worker, s.Jobs, serving{s}, s.Telemetry)
	if err != nil {
		return err
	}
	s.Require(s.door.Ready)
	return nil
}

// Discard gives back what a stage that never ran has taken.
func (s *Stage) Discard(ctx context.Context) error {
	if s.Jobs != nil {
		s.Jobs.Connection().Close()
	}
	return errors.Join(s.closeBackends(), s.Telemetry.Shutdown(ctx))
}

func (s *Stage) closeBackends() error {
	var failed error
	for _, c := range s.closes {
		failed = errors.Join(failed, c.Close())
	}
	return failed
}

// Add gives the stage a part of its own. Parts start in the order in which they
// were added, after the models and before the gRPC port, and stop in reverse.
func (s *Stage) Add(part app.Part) { s.extra = append(s.extra, part) }

// Require makes readiness ask check too, beside the models.
func (s *Stage) Require(check func() error) { s.ready = append(s.ready, check) }

// Watch makes liveness ask check: an error says which loop has stopped turning, and
// that only a restart can help.
func (s *Stage) Watch(check func() error) { s.live = append(s.live, check) }

// Live says why the process should be restarted; nil when it should not.
func (s *Stage) Live() error { return first(s.live) }

func first(checks []func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Handle adds a route to the admin port.
func (s *Stage) Handle(pattern string, handler http.Handler) { s.admin.Handle(pattern, handler) }

// GRPCAddress is where the stage listens once it runs.
func (s *Stage) GRPCAddress() string { return s.grpc.Address() }

// AdminAddress is where the stage's admin port listens once it runs.
func (s *Stage) AdminAddress() string { return s.admin.Address() }

// Ready says why no traffic should be sent here; nil when it should.
func (s *Stage) Ready() error {
	if s.app.Draining() {
		return failure.New(failure.Unavailable, "draining")
	}
	if err := first(s.ready); err != nil {
		return err
	}
	return s.Registry.EverReady()
}

// Run serves until ctx ends; server is what answers the gRPC port: the stage's
// own Service, or what is built on it. Parts start in this order and stop in
// reverse: telemetry, admin port, models, added parts, gRPC port. The ports are
// open before the models are loaded; started is called then.
func (s *Stage) Run(ctx context.Context, server inference.GRPCInferenceServiceServer, started func()) error {
	if s.Registry == nil {
		return failure.New(failure.Internal, "%s runs without models", s.name)
	}
	inference.RegisterGRPCInferenceServiceServer(s.grpc, server)
	parts := []app.Part{
		{Name: "telemetry", Stop: s.flush},
		s.admin.Part("admin port (--admin-address)"),
		{Name: "models", Start: s.load, Drain: s.Registry.GiveUpLoading, Stop: s.unload, Failed: s.loads.failed},
	}
	if s.Jobs != nil {
		parts = append(parts, s.Jobs.Connection().Part())
	}
	parts = append(parts, s.extra...)
	if s.door != nil {
		parts = append(parts, s.door.Part())
	}
	return s.app.Run(ctx, func() {
		s.Telemetry.Logger.Info("serving", "grpc", s.GRPCAddress(), "admin", s.AdminAddress())
		started()
	}, append(parts, s.grpc.Part("gRPC port (--grpc-address)"))...)
}

// flushTimeout bounds the sending of the last spans. It is not taken from the
// time of the other parts, which may be used up.
const flushTimeout = 3 * time.Second

func (s *Stage) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := s.Telemetry.Shutdown(ctx); err != nil {
		// Spans that a collector does not take are no reason to end badly.
		s.Telemetry.Logger.Warn("the last traces were not sent", "error", err)
	}
	return nil
}
