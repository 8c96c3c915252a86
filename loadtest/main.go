// Loadtest measures servers that classify images: see `loadtest --help`. It
// starts no server.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// The exit statuses.
const (
	statusGood   = 0
	statusErrors = 1
	statusNotRun = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
