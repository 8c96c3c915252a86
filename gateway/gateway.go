package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"triptych/gateway/admission"
	"triptych/gateway/ensemble"
	"triptych/gateway/front"
	"triptych/gateway/jobs"
	"triptych/gateway/router"
	"triptych/gateway/upstream"
	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/stage"
)

// Gateway is the gateway, made and not yet running.
type Gateway struct {
	stage  *stage.Stage
	router *router.Router
	front  *front.Front
	fleet  *upstream.Fleet
	jobs   *jobs.Jobs
	// rpc is the router behind the admission of the gRPC port.
	rpc inference.GRPCInferenceServiceServer
}

// New joins the gateway's parts. Logs go to logs.
func New(ctx context.Context, common stage.Config, cfg Config, logs io.Writer) (*Gateway, error) {
	s, err := stage.New(ctx, "gateway", common, logs)
	if err != nil {
		return nil, err
	}
	g := &Gateway{stage: s}
	if err := g.join(common, cfg); err != nil {
		return nil, errors.Join(err, g.abandon(ctx))
	}
	return g, nil
}

// abandon gives back what a gateway that never ran has taken.
func (g *Gateway) abandon(ctx context.Context) error {
	err := g.stage.Discard(ctx)
	if g.fleet != nil {
		err = errors.Join(err, g.fleet.Part().Stop(ctx))
	}
	return err
}

// join makes the parts, each from those before it: who is behind us, where a
// request goes, what is served here, what listens.
func (g *Gateway) join(common stage.Config, cfg Config) error {
	repository, err := modelserver.NewRepository(common.Repository...)
	if err != nil {
		return err
	}
	if g.fleet, err = upstream.New(cfg.Upstreams, common.RPC, g.stage.Telemetry); err != nil {
		return err
	}
	g.router = router.New(g.fleet, repository, g.stage.Telemetry)
	if err := g.stage.Serve(ensemble.NewBackend(g.router, g.stage.Telemetry)); err != nil {
		return err
	}
	g.router.Use(g.stage.Service, g.stage.Registry)
	room, err := admission.New(cfg.Admission, g.stage.Telemetry.Registry)
	if err != nil {
		return err
	}
	g.rpc = room.Server(g.router)
	cfg.Front.RequestTimeout = common.RPC.RequestTimeout
	cfg.Jobs.Intake.MaxImage = cfg.Front.Classify.MaxImage
	if g.jobs, err = jobs.New(cfg.Jobs, g.stage.Jobs, g.router, g.stage.Telemetry); err != nil {
		return err
	}
	if g.front, err = front.New(cfg.Front, g.router, room, g.stage.Telemetry, g.jobs.Background(), g.jobs.Routes()...); err != nil {
		return err
	}
	g.stage.Require(g.fleet.Settled)
	g.stage.Watch(g.fleet.Live)
	g.stage.Add(g.fleet.Part())
	for _, part := range g.jobs.Parts() {
		g.stage.Add(part)
	}
	g.stage.Add(g.front.Part("HTTP port"))
	return nil
}

// Run serves until ctx ends; started is called when the ports are open.
func (g *Gateway) Run(ctx context.Context, started func()) error {
	return g.stage.Run(ctx, g.rpc, func() {
		g.stage.Telemetry.Logger.Info("serving HTTP", "address", g.front.Address())
		started()
	})
}

// Handle adds a route to the gateway's admin port. Call it before Run.
func (g *Gateway) Handle(pattern string, handler http.Handler) { g.stage.Handle(pattern, handler) }

// Ready says why no traffic should be sent here; nil when it should.
func (g *Gateway) Ready() error { return g.stage.Ready() }

// SettledSince tells whether the gateway has tried to load its own models, and has
// asked every upstream in a round that began after t.
func (g *Gateway) SettledSince(t time.Time) bool {
	return g.stage.Registry.Settled() && g.fleet.Asked().After(t)
}

// Models counts the versions of the repository and the upstreams that can be served
// now, and those that can't.
func (g *Gateway) Models() (ready, failed int) {
	resp, err := g.router.RepositoryIndex(context.Background(), &inference.RepositoryIndexRequest{})
	if err != nil {
		return 0, 0 // the repository can't be read: nothing is known
	}
	for _, m := range resp.GetModels() {
		switch {
		case m.GetState() == string(modelserver.Ready):
			ready++
		case m.GetReason() != modelserver.Unloaded:
			failed++
		}
	}
	return ready, failed
}

// HTTPAddress is where HTTP is served once the gateway runs.
func (g *Gateway) HTTPAddress() string { return g.front.Address() }

// GRPCAddress is where gRPC is served once the gateway runs.
func (g *Gateway) GRPCAddress() string { return g.stage.GRPCAddress() }

// AdminAddress is where the admin port is once the gateway runs.
func (g *Gateway) AdminAddress() string { return g.stage.AdminAddress() }
