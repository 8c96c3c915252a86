// Command bench-jobs measures jobs beside the sync road: see
// `make bench-jobs` and docs/benchmarks.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"triptych/loadtest/bench/jobs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(jobs.Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
