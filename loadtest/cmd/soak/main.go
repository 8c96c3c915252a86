// Command soak runs the whole chain for long, on bad days: see `make soak` and
// docs/benchmarks.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"triptych/loadtest/bench/soak"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(soak.Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
