package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"triptych/shared/admin"
	"triptych/shared/config"
	"triptych/shared/heap"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// The exit statuses of a service.
const (
	statusOK     = 0
	statusFailed = 1
	statusUsage  = 2
)

// Process is what a program gets from its system.
type Process struct {
	Args    []string // without the program's name
	Environ []string
	Stdout  io.Writer
	Stderr  io.Writer
}

// Here is the process that the program runs in.
func Here() Process {
	return Process{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}
}

// commands are the flags that make a service do something else than serve.
type commands struct {
	version, healthcheck bool
}

func (c *commands) RegisterFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&c.version, "version", false, "Print the version and end.")
	fs.BoolVar(&c.healthcheck, "healthcheck", false, "Ask the service that runs here whether it is ready, and end with status 0 when it is.")
	config.ArgumentOnly(fs, "version", "healthcheck")
}

func (c *commands) Validate() error { return nil }

// Main is the main function of a service: it reads the settings, then runs it
// until SIGTERM or an interrupt. It returns the exit status.
func Main(p Process, name, summary string, cfg *Config, own config.Section, run func(ctx context.Context, logs io.Writer) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	var do commands
	warnings, err := config.Parse(name, summary, p.Args, p.Environ, p.Stdout, cfg, own, &do)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return statusOK
	case err != nil:
		fmt.Fprintf(p.Stderr, "%s: %s\n", name, err)
		return statusUsage
	case do.version:
		fmt.Fprintln(p.Stdout, name, telemetry.Version())
		return statusOK
	case do.healthcheck:
		return report(p, name, admin.Check(ctx, cfg.Admin))
	}
	for _, w := range warnings {
		fmt.Fprintf(p.Stderr, "%s: %s is set, but no flag goes by it\n", name, w)
	}
	defer cfg.TuneProcess(name, p.Stderr)()
	return report(p, name, run(ctx, p.Stderr))
}

// TuneProcess sets what is about the whole process: how its threads are scheduled, and
// how often its garbage is collected until stop is called. What the kernel refuses is
// told under the program's name, and is no reason not to run.
func (c *Config) TuneProcess(name string, stderr io.Writer) (stop func()) {
	if err := c.Scheduling.Apply(); err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", name, err)
	}
	return heap.Tune(c.Heap)
}

func report(p Process, name string, err error) int {
	if err == nil {
		return statusOK
	}
	fmt.Fprintf(p.Stderr, "%s: %s\n", name, err)
	return statusFailed
}

// Backends makes the backends of a service.
type Backends func(*telemetry.Telemetry) ([]modelserver.Backend, error)

// One is the result of Backends for a service with one backend: it takes what the
// backend's constructor returned.
func One(b modelserver.Backend, err error) ([]modelserver.Backend, error) {
	return []modelserver.Backend{b}, err
}

// MainWithBackends is the main function of a service that serves the models of its
// backends and does nothing else. It returns the exit status.
func MainWithBackends(p Process, name, summary string, own config.Section, backends Backends) int {
	common := DefaultConfig()
	return Main(p, name, summary, &common, own, func(ctx context.Context, logs io.Writer) error {
		s, err := NewWithBackends(ctx, name, common, logs, backends)
		if err != nil {
			return err
		}
		return s.Run(ctx, s.Service, func() {})
	})
}

// NewWithBackends makes a stage that serves the models of the backends.
func NewWithBackends(ctx context.Context, name string, cfg Config, logs io.Writer, backends Backends) (*Stage, error) {
	cfg.Stream.Follow = true // the gateway says what limits the streams have
	s, err := New(ctx, name, cfg, logs)
	if err != nil {
		return nil, err
	}
	made, err := backends(s.Telemetry)
	if err != nil {
		return nil, errors.Join(err, s.Discard(ctx)) // what was made may be a nil of its own type
	}
	if err := s.Serve(made...); err != nil {
		return nil, errors.Join(err, s.Discard(ctx))
	}
	return s, nil
}
