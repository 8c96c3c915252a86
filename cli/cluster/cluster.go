// Package cluster runs all four services in one process, each still on its own
// ports of loopback with its own telemetry. The services know nothing of it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"triptych/cli/sink"
	"triptych/gateway"
	"triptych/services/postprocess"
	"triptych/services/predictor"
	"triptych/services/preprocess"
	"triptych/shared/modelserver"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
)

// Config is the settings of all services. Common's addresses are the gateway's:
// the others take free ports of loopback.
type Config struct {
	Common      stage.Config
	Gateway     gateway.Config
	Preprocess  preprocess.Config
	Predictor   predictor.Config
	Postprocess postprocess.Config
	// NATS is where jobs are kept when Common names no server.
	NATS NATS
}

// DefaultConfig is the defaults of all services.
func DefaultConfig() Config {
	return Config{
		Common:      stage.DefaultConfig(),
		Gateway:     gateway.DefaultConfig(),
		Preprocess:  preprocess.DefaultConfig(),
		Predictor:   predictor.DefaultConfig(),
		Postprocess: postprocess.DefaultConfig(),
	}
}

// Addresses are where the gateway is.
type Addresses struct{ HTTP, GRPC, Admin string }

// Ready is what there is when everything has been loaded that can be.
type Ready struct {
	Addresses
	// Models counts the versions that are served, and Failed those that are not.
	Models, Failed int
}

// Run serves until ctx ends. Ready is called once everything that can be loaded
// has been. The services start before the gateway and stop after it; the NATS server
// starts before all and stops after all.
func Run(ctx context.Context, cfg Config, logs io.Writer, ready func(Ready)) error {
	traces := sink.New()
	collector, err := traces.Start(ctx)
	if err != nil {
		return fmt.Errorf("start the trace sink: %w", err)
	}
	defer traces.Stop()
	if cfg.Common.Telemetry.OTLPEndpoint == "" {
		cfg.Common.Telemetry.OTLPEndpoint = collector
	}
	jobs, err := openStore(&cfg, logs)
	if err != nil {
		return err
	}
	defer jobs.close()
	stages, err := makeStages(ctx, cfg, logs)
	if err != nil {
		return err
	}
	return runAll(ctx, stages, func(ctx context.Context) error {
		cfg.Gateway.Upstreams.Addresses = append(cfg.Gateway.Upstreams.Addresses, addresses(stages)...)
		g, err := gateway.New(ctx, cfg.Common, cfg.Gateway, logs)
		if err != nil {
			return err
		}
		g.Handle(sink.Route, traces)
		return runGateway(ctx, g, stages, ready)
	})
}

func makeStages(ctx context.Context, cfg Config, logs io.Writer) ([]*stage.Stage, error) {
	inner := cfg.Common
	inner.GRPCAddress, inner.Admin.Address = "127.0.0.1:0", "127.0.0.1:0"
	// Only the gateway has callers who need time to look elsewhere.
	inner.App.DrainDelay = 0
	backends := []struct {
		name string
		make stage.Backends
	}{
		{"preprocess", func(t *telemetry.Telemetry) ([]modelserver.Backend, error) {
			return stage.One(preprocess.NewBackend(cfg.Preprocess, t))
		}},
		{"predictor", func(t *telemetry.Telemetry) ([]modelserver.Backend, error) {
			return predictor.NewBackends(cfg.Predictor, t)
		}},
		{"postprocess", func(t *telemetry.Telemetry) ([]modelserver.Backend, error) {
			return stage.One(postprocess.NewBackend(cfg.Postprocess, t))
		}},
	}
	var stages []*stage.Stage
	for _, b := range backends {
		s, err := stage.NewWithBackends(ctx, b.name, inner, logs, b.make)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", b.name, err), discard(ctx, stages))
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// discard gives back what stages that never ran have taken.
func discard(ctx context.Context, stages []*stage.Stage) error {
	var failed error
	for _, s := range stages {
		failed = errors.Join(failed, s.Discard(ctx))
	}
	return failed
}

func addresses(stages []*stage.Stage) []string {
	list := make([]string, len(stages))
	for i, s := range stages {
		list[i] = s.GRPCAddress()
	}
	return list
}

// runAll starts every stage, runs front in their midst, and stops them when
// front has ended or one of them has failed.
func runAll(ctx context.Context, stages []*stage.Stage, front func(context.Context) error) error {
	frontCtx, stopFront := context.WithCancel(ctx)
	defer stopFront()
	stagesCtx, stopStages := context.WithCancel(context.Background())
	defer stopStages()
	ended := make(chan error, len(stages))
	started := make(chan struct{}, len(stages))
	for _, s := range stages {
		go func() {
			err := s.Run(stagesCtx, s.Service, func() { started <- struct{}{} })
			stopFront() // a stage that ends, for whatever reason, ends all
			ended <- err
		}()
	}
	var failed error
	if waitFor(frontCtx, started, len(stages)) {
		failed = front(frontCtx)
	}
	stopStages()
	for range stages {
		failed = errors.Join(failed, <-ended)
	}
	return failed
}

func waitFor(ctx context.Context, started <-chan struct{}, count int) bool {
	for range count {
		select {
		case <-started:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// settlePoll is the pause between looks at whether everything is loaded.
const settlePoll = 20 * time.Millisecond

// runGateway runs the gateway and calls ready when all services have tried to
// load everything and the gateway has learned of it.
func runGateway(ctx context.Context, g *gateway.Gateway, stages []*stage.Stage, ready func(Ready)) error {
	running, over := context.WithCancel(ctx)
	defer over()
	var watching sync.WaitGroup
	err := g.Run(ctx, func() {
		watching.Go(func() {
			if settle(running, g, stages) {
				r := Ready{Addresses: Addresses{HTTP: g.HTTPAddress(), GRPC: g.GRPCAddress(), Admin: g.AdminAddress()}}
				r.Models, r.Failed = g.Models()
				ready(r)
			}
		})
	})
	over()
	watching.Wait()
	return err
}

// settle waits until the gateway has asked every stage after the last of them
// had tried to load its models.
func settle(ctx context.Context, g *gateway.Gateway, stages []*stage.Stage) bool {
	tick := time.NewTicker(settlePoll)
	defer tick.Stop()
	var loaded time.Time
	for {
		if loaded.IsZero() && !slices.ContainsFunc(stages, func(s *stage.Stage) bool { return !s.Registry.Settled() }) {
			loaded = time.Now()
		}
		if !loaded.IsZero() && g.SettledSince(loaded) {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}
