// Command preprocess decodes images and lays them out as tensors.
package main

import (
	"os"
	"runtime/debug"

	"triptych/services/preprocess"
	"triptych/shared/modelserver"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
)

func main() {
	cfg := preprocess.DefaultConfig()
	os.Exit(stage.MainWithBackends(stage.Here(), "preprocess", "preprocess decodes images and lays them out as tensors.", &cfg, func(tel *telemetry.Telemetry) ([]modelserver.Backend, error) {
		if os.Getenv("GOMEMLIMIT") == "" { // which Go has heeded already
			debug.SetMemoryLimit(cfg.Memory())
		}
		return stage.One(preprocess.NewBackend(cfg, tel))
	}))
}
