package predictor

import (
	"triptych/services/predictor/batcher"
	"triptych/services/predictor/simulator"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// NewBackends makes the backends of the service, onnxruntime and simulator, which
// count their batches in the same metrics. Close those that are an io.Closer after
// their models.
func NewBackends(cfg Config, tel *telemetry.Telemetry) ([]modelserver.Backend, error) {
	metrics, err := batcher.NewMetrics(tel.Registry)
	if err != nil {
		return nil, err
	}
	onnx, err := NewBackend(cfg, tel, metrics)
	if err != nil {
		return nil, err
	}
	return []modelserver.Backend{onnx, simulator.NewBackend(simulator.Config{MaxQueueSize: cfg.MaxQueueSize}, tel, metrics)}, nil
}
