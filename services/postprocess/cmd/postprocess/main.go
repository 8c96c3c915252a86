// Command postprocess turns scores into labels.
package main

import (
	"os"

	"triptych/services/postprocess"
	"triptych/shared/modelserver"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
)

func main() {
	cfg := postprocess.DefaultConfig()
	os.Exit(stage.MainWithBackends(stage.Here(), "postprocess", "postprocess turns scores into labels.", &cfg, func(tel *telemetry.Telemetry) ([]modelserver.Backend, error) {
		return stage.One(postprocess.NewBackend(cfg, tel))
	}))
}
