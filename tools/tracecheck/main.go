// Command tracecheck waits until Jaeger holds the whole trace of one classification, or of one
// item of a job, and checks that it is one tree through all four services, with every span below
// the right parent.
//
//	tracecheck [-jaeger URL] [-wait 30s] [-tree classify|job] TRACE-ID
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("tracecheck", flag.ContinueOnError)
	flags.SetOutput(stderr)
	server := flags.String("jaeger", "http://127.0.0.1:16686", "Jaeger's `URL`")
	tree := flags.String("tree", "classify", "what the trace is of: classify, or a `job`'s item")
	wait := flags.Duration("wait", 30*time.Second, "how long spans may take to arrive")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 1 {
		fmt.Fprintln(stderr, "tracecheck: name one trace id")
		return 2
	}
	want, known := trees[*tree]
	if !known {
		fmt.Fprintf(stderr, "tracecheck: there is no tree %q\n", *tree)
		return 2
	}
	ctx, cancel := context.WithTimeout(ctx, *wait)
	defer cancel()
	spans, err := await(ctx, *server, flags.Arg(0), want)
	draw(stdout, spans)
	if err != nil {
		fmt.Fprintln(stderr, "tracecheck:", err)
		return 1
	}
	fmt.Fprintf(stdout, "ok   trace %s: %d spans, every expected one below its parent\n", flags.Arg(0), len(spans))
	return 0
}

// await asks until the trace is complete or the time is over. A trace arrives in pieces, one from
// each service, so an incomplete one is the usual first answer.
func await(ctx context.Context, server, id string, want node) ([]span, error) {
	var spans []span
	last := fmt.Errorf("no answer from %s", server)
	for {
		fetched, err := fetch(ctx, server, id)
		if ctx.Err() != nil {
			return spans, last
		}
		if err == nil {
			spans = fetched
			err = check(spans, want)
		}
		if err == nil {
			return spans, nil
		}
		last = err
		select {
		case <-ctx.Done():
			return spans, last
		case <-time.After(500 * time.Millisecond):
		}
	}
}
