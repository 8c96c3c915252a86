// Command predictor runs ONNX models in batches.
package main

import (
	"context"
	"io"
	"os"

	"triptych/services/predictor"
	"triptych/shared/modelserver"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
)

const summary = "predictor runs ONNX models in batches."

func main() {
	os.Exit(run(stage.Process{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}))
}

func run(p stage.Process) int {
	common, cfg := stage.DefaultConfig(), predictor.DefaultConfig()
	return stage.Main(p, "predictor", summary, &common, &cfg, func(ctx context.Context, logs io.Writer) error {
		s, err := stage.NewWithBackend(ctx, "predictor", common, logs, func(tel *telemetry.Telemetry) (modelserver.Backend, error) {
			return predictor.NewBackend(cfg, tel)
		})
		if err != nil {
			return err
		}
		return s.Run(ctx, s.Service, func() {})
	})
}
