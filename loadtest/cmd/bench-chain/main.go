// Command bench-chain measures the whole chain, in turn with a rival where one is
// given: see `make bench` and docs/benchmarks.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"triptych/loadtest/bench/chain"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(chain.Run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
