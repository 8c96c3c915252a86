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

// garbage is how much of it there may be beside what is in use, in percent: nearly
// all is files and answers that live for one request, and the memory limit holds
// whatever the percentage. Go's default takes a tenth of a millisecond more an image.
const garbage = 400

func main() {
	cfg := preprocess.DefaultConfig()
	os.Exit(stage.MainWithBackends(stage.Here(), "preprocess", "preprocess decodes images and lays them out as tensors.", &cfg, func(tel *telemetry.Telemetry) ([]modelserver.Backend, error) {
		// Go has heeded both variables already.
		if os.Getenv("GOMEMLIMIT") == "" {
			debug.SetMemoryLimit(cfg.Memory())
		}
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(garbage)
		}
		return stage.One(preprocess.NewBackend(cfg, tel))
	}))
}
