// Command preprocess decodes images and lays them out as tensors.
package main

import (
	"context"
	"io"
	"os"

	"triptych/services/preprocess"
	"triptych/shared/modelserver"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
)

const summary = "preprocess decodes images and lays them out as tensors."

func main() {
	os.Exit(run(stage.Process{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}))
}

func run(p stage.Process) int {
	common, cfg := stage.DefaultConfig(), preprocess.DefaultConfig()
	return stage.Main(p, "preprocess", summary, &common, &cfg, func(ctx context.Context, logs io.Writer) error {
		s, err := stage.NewWithBackend(ctx, "preprocess", common, logs, func(tel *telemetry.Telemetry) (modelserver.Backend, error) {
			return preprocess.NewBackend(cfg, tel)
		})
		if err != nil {
			return err
		}
		return s.Run(ctx, s.Service, func() {})
	})
}
