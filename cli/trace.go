package cli

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"triptych/cli/style"
	"triptych/cli/traces"
	"triptych/cli/waterfall"
)

// traceWait bounds how long a trace is waited for, at all places together.
const traceWait = 6 * time.Second

// jaegerPort is where Jaeger answers queries.
const jaegerPort = 16686

// adminOffset is how far the admin port is from the HTTP port by default.
const adminOffset = 2

// traceFlags say where traces are read.
type traceFlags struct{ traces string }

func (f *traceFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.traces, "traces", "", "Where traces are read, a URL that answers Jaeger's /api/traces (default: the admin port of triptych up, then Jaeger, on the gateway's host)")
}

// draw draws a trace as a waterfall.
func (f *traceFlags) draw(streams Streams, t traces.Trace) error {
	return waterfall.Write(streams.Out, t, style.For(streams.Out), style.Columns(streams.Out))
}

// read asks where it was told to, or the places where traces usually are.
func (f *traceFlags) read(ctx context.Context, server, id string) (traces.Trace, error) {
	var failed error
	bases := f.bases(server)
	for _, base := range bases {
		t, err := waitAt(ctx, base, id, traceWait/time.Duration(len(bases)))
		if err == nil {
			return t, nil
		}
		failed = errors.Join(failed, err)
	}
	return traces.Trace{}, failed
}

func waitAt(ctx context.Context, base, id string, limit time.Duration) (traces.Trace, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return traces.Wait(ctx, base, id)
}

func (f *traceFlags) bases(server string) []string {
	if f.traces != "" {
		return []string{f.traces}
	}
	u, err := url.Parse(server)
	if err != nil {
		return nil
	}
	var bases []string
	if port, err := strconv.Atoi(u.Port()); err == nil {
		bases = append(bases, "http://"+net.JoinHostPort(u.Hostname(), strconv.Itoa(port+adminOffset)))
	}
	return append(bases, "http://"+net.JoinHostPort(u.Hostname(), strconv.Itoa(jaegerPort)))
}

// noTrace says why there is nothing to draw.
func noTrace(err error) string { return "no trace to draw: " + explain(err) }
