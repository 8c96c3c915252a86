// Command triptych serves image models, and asks them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"triptych/cli"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return cli.Execute(ctx, os.Args[1:], os.Environ(), cli.Streams{Out: os.Stdout, Err: os.Stderr, In: os.Stdin})
}
