package predictor

import (
	"context"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

var _ modelserver.Sampler = (*model)(nil)

// Samples are the requests that this version is compared on with the one that
// serves.
func (m *model) Samples(ctx context.Context) ([]modelserver.Sample, error) {
	samples, err := m.session.Samples(ctx, m.spec.Config, m.spec.Directory)
	if err != nil {
		return nil, err
	}
	requests := make([]modelserver.Sample, len(samples))
	for i, s := range samples {
		req := &inference.ModelInferRequest{ModelName: m.spec.Name()}
		for _, in := range s.Inputs {
			oip.AddInput(req, in)
		}
		requests[i] = modelserver.Sample{Name: s.Name, Request: req}
	}
	return requests, nil
}
