// Command predictor runs ONNX models in batches.
package main

import (
	"os"

	"triptych/services/predictor"
	"triptych/shared/modelserver"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
)

func main() {
	cfg := predictor.DefaultConfig()
	cfg.YieldProcessors = true
	os.Exit(stage.MainWithBackends(stage.Here(), "predictor", "predictor runs ONNX models in batches.", &cfg, func(tel *telemetry.Telemetry) ([]modelserver.Backend, error) {
		return predictor.NewBackends(cfg, tel)
	}))
}
