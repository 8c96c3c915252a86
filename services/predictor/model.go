package predictor

import (
	"context"
	"maps"

	"triptych/proto/inference"
	"triptych/services/predictor/batcher"
	"triptych/services/predictor/engine"
	"triptych/shared/capacity"
	"triptych/shared/modelserver"
)

var (
	_ modelserver.TimedModel     = (*model)(nil)
	_ modelserver.Warmer         = (*model)(nil)
	_ modelserver.Describer      = (*model)(nil)
	_ modelserver.PendingCounter = (*model)(nil)
	_ modelserver.Reporter       = (*model)(nil)
)

// model is one loaded version: a session behind a batcher.
type model struct {
	spec       modelserver.Spec
	session    *engine.Session
	batcher    *batcher.Batcher
	forget     func() // takes the version out of the metric of providers
	properties map[string]string
}

// Infer runs one request.
func (m *model) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	resp, _, err := m.InferTimed(ctx, req)
	return resp, err
}

// InferTimed runs one request and tells where its time went.
func (m *model) InferTimed(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	if err := m.session.CheckRequest(req); err != nil {
		return nil, modelserver.Timing{}, err
	}
	return m.batcher.Do(ctx, req)
}

// WarmUp runs the configuration's model_warmup and a batch of each size, from
// which the batcher has its first idea of what a batch takes.
func (m *model) WarmUp(ctx context.Context) error {
	measured, err := m.session.WarmUp(ctx, m.spec.Config, m.spec.Directory)
	for _, size := range measured {
		m.batcher.Learn(size.Rows, size.Took)
	}
	return err
}

// Properties tell what runs the model.
func (m *model) Properties() map[string]string { return maps.Clone(m.properties) }

// Pending is how many requests wait for their batch.
func (m *model) Pending() int { return m.batcher.Pending() }

// Capacity is how many batches run at once, and what waits for one.
func (m *model) Capacity() capacity.Report { return m.batcher.Capacity() }

// Close finishes what the batcher holds and frees the session.
func (m *model) Close() error {
	m.batcher.Close()
	m.forget()
	return m.session.Close()
}
