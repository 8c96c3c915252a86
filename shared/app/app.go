// Package app runs a program's parts: it starts them in order, waits for the
// end, drains, and stops them in reverse. It knows nothing of what a part does.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Part is something that starts and stops. Start returns when the part works (a
// server has its port); Stop finishes what is held and returns, at the latest
// when its context ends. Either may be nil.
type Part struct {
	Name  string
	Start func(ctx context.Context) error
	// Drain tells the part, before the drain delay, that the end was asked for:
	// it goes on to serve and may send its clients elsewhere. May be nil.
	Drain func()
	Stop  func(ctx context.Context) error
	// Failed tells of an end that nobody asked for. May be nil.
	Failed <-chan error
	// Door is set for a part that takes in work from outside.
	Door bool
}

// Config says how a program ends.
type Config struct {
	// DrainDelay is how long everything goes on to serve, no longer ready, after
	// the end was asked for: load balancers need that long to notice.
	DrainDelay time.Duration
	// StopTimeout bounds the stopping of all parts together; doors have a share.
	StopTimeout time.Duration
}

var _ config.Section = (*Config)(nil)

// DefaultConfig suits Kubernetes' defaults.
func DefaultConfig() Config {
	return Config{DrainDelay: 0, StopTimeout: 25 * time.Second}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&c.DrainDelay, "drain-delay", c.DrainDelay, "How long to go on serving, not ready, after SIGTERM.")
	fs.DurationVar(&c.StopTimeout, "stop-timeout", c.StopTimeout, "How long requests that run may take to finish after that.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.DrainDelay < 0 {
		return config.Wrong("drain-delay", "is %s, must not be negative", c.DrainDelay)
	}
	if c.StopTimeout <= 0 {
		return config.Wrong("stop-timeout", "is %s, must be above 0", c.StopTimeout)
	}
	return nil
}

// App is the life of one program. Safe for concurrent use.
type App struct {
	config   Config
	logger   *slog.Logger
	draining atomic.Bool
}

// New makes an app.
func New(cfg Config, logger *slog.Logger) *App {
	return &App{config: cfg, logger: logger}
}

// Draining tells whether the end has been asked for: readiness must say no.
func (a *App) Draining() bool { return a.draining.Load() }

// Run starts the parts in order, calls started, and waits until ctx ends or a
// part fails. Then it drains and stops the parts: all doors together, then the
// others in reverse order. A part that can't start ends the run at once. The end
// of ctx is no error.
func (a *App) Run(ctx context.Context, started func(), parts ...Part) error {
	running, err := a.start(ctx, parts)
	if err == nil {
		started()
		err = wait(ctx, running)
		a.drain(running, err)
	}
	return errors.Join(err, a.stop(ctx, running))
}

func (a *App) start(ctx context.Context, parts []Part) (running []Part, err error) {
	for _, p := range parts {
		if p.Start != nil {
			if err := p.Start(ctx); err != nil {
				return running, fmt.Errorf("start %s: %w", p.Name, err)
			}
		}
		running = append(running, p)
	}
	return running, nil
}

// wait returns the first failure of a part, or nil when ctx has ended.
func wait(ctx context.Context, parts []Part) error {
	over, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer cancel()
	failed := make(chan error, len(parts))
	for _, p := range parts {
		if p.Failed == nil {
			continue
		}
		watchers.Go(func() {
			select {
			case err := <-p.Failed:
				failed <- fmt.Errorf("%s ended: %w", p.Name, err)
			case <-over.Done():
			}
		})
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (a *App) drain(parts []Part, failed error) {
	a.draining.Store(true)
	for _, p := range slices.Backward(parts) {
		if p.Drain != nil {
			p.Drain()
		}
	}
	if failed == nil && a.config.DrainDelay > 0 {
		a.logger.Info("draining", "seconds", a.config.DrainDelay.Seconds())
		<-time.After(a.config.DrainDelay)
	}
}

// doorShare is the part of the stop timeout that doors may use: what lies behind
// them needs the rest to end in good order.
const doorShare = 0.8

// stop stops the doors together, for none may take in work while another still
// finishes what it holds, and then what lies behind them, in reverse. It goes on
// after a part that could not be stopped well: the others still hold ports and
// requests.
func (a *App) stop(ctx context.Context, parts []Part) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.config.StopTimeout)
	defer cancel()
	failed := a.stopDoors(ctx, parts)
	for _, p := range slices.Backward(parts) {
		if !p.Door {
			failed = errors.Join(failed, p.stop(ctx))
		}
	}
	return failed
}

func (a *App) stopDoors(ctx context.Context, parts []Part) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(doorShare*float64(a.config.StopTimeout)))
	defer cancel()
	ends := make([]error, len(parts))
	var doors sync.WaitGroup
	for i, p := range parts {
		if p.Door {
			doors.Go(func() { ends[i] = p.stop(ctx) })
		}
	}
	doors.Wait()
	slices.Reverse(ends)
	return errors.Join(ends...)
}

func (p Part) stop(ctx context.Context) error {
	if p.Stop == nil {
		return nil
	}
	if err := p.Stop(ctx); err != nil {
		return fmt.Errorf("stop %s: %w", p.Name, err)
	}
	return nil
}
