// Command postprocess turns scores into labels.
package main

import (
	"context"
	"io"
	"os"

	"triptych/services/postprocess"
	"triptych/shared/modelserver"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
)

const summary = "postprocess turns scores into labels."

func main() {
	os.Exit(run(stage.Process{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}))
}

func run(p stage.Process) int {
	common, cfg := stage.DefaultConfig(), postprocess.DefaultConfig()
	return stage.Main(p, "postprocess", summary, &common, &cfg, func(ctx context.Context, logs io.Writer) error {
		s, err := stage.NewWithBackend(ctx, "postprocess", common, logs, func(tel *telemetry.Telemetry) (modelserver.Backend, error) {
			return postprocess.NewBackend(cfg, tel)
		})
		if err != nil {
			return err
		}
		return s.Run(ctx, s.Service, func() {})
	})
}
