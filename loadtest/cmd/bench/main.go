// Command bench measures the predictor, in turn with a rival where one is given: see
// `make bench-predictor` and docs/benchmarks.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"triptych/loadtest/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(bench.Run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}
