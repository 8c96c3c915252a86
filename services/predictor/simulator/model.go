package simulator

import (
	"context"
	"strconv"

	"triptych/proto/inference"
	"triptych/services/predictor/batcher"
	"triptych/shared/modelserver"
)

var (
	_ modelserver.TimedModel     = (*model)(nil)
	_ modelserver.Describer      = (*model)(nil)
	_ modelserver.PendingCounter = (*model)(nil)
)

// model is one loaded version: a device behind a batcher.
type model struct {
	device  *device
	batcher *batcher.Batcher
}

// Infer runs one request.
func (m *model) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	resp, _, err := m.batcher.Do(ctx, req)
	return resp, err
}

// InferTimed runs one request and tells where its time went.
func (m *model) InferTimed(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	return m.batcher.Do(ctx, req)
}

// Properties say that nothing here is real.
func (m *model) Properties() map[string]string {
	return map[string]string{
		"device":      "simulated",
		"instances":   strconv.Itoa(m.device.instances),
		"fixed_us":    strconv.FormatInt(m.device.fixed.Microseconds(), 10),
		"per_item_us": strconv.FormatInt(m.device.perItem.Microseconds(), 10),
	}
}

// Pending is how many requests wait for their batch.
func (m *model) Pending() int { return m.batcher.Pending() }

// Close finishes what the batcher holds.
func (m *model) Close() error {
	m.batcher.Close()
	m.device.close()
	return nil
}
