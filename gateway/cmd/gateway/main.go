// Command gateway is the front of the system.
package main

import (
	"context"
	"io"
	"os"

	"triptych/gateway"
	"triptych/shared/stage"
)

const summary = `gateway takes requests over HTTP and gRPC, runs ensembles, and routes everything
else to the services behind it.`

func main() {
	os.Exit(run(stage.Here()))
}

func run(p stage.Process) int {
	common, cfg := stage.DefaultConfig(), gateway.DefaultConfig()
	return stage.Main(p, "gateway", summary, &common, &cfg, func(ctx context.Context, logs io.Writer) error {
		g, err := gateway.New(ctx, common, cfg, logs)
		if err != nil {
			return err
		}
		return g.Run(ctx, func() {})
	})
}
