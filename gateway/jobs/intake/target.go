package intake

import (
	"context"

	"triptych/gateway/classes"
	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/oip"
)

// target is the model of a job, as its items need it.
type target struct {
	plan  []byte
	input classes.Input
}

// config asks for a model's configuration: NotFound for one that there is not, and
// Unavailable for one that nobody can tell of now.
func (in *Intake) config(ctx context.Context, model, version string) (*inference.ModelConfig, error) {
	resp, err := in.server.ModelConfig(ctx, &inference.ModelConfigRequest{Name: model, Version: version})
	if err != nil {
		return nil, web.Failure(err)
	}
	return resp.GetConfig(), nil
}

// target finds the model of a job of images.
func (in *Intake) target(ctx context.Context, s *settings) (t target, err error) {
	model, version := s.model(), s.text["version"]
	cfg, err := in.config(ctx, model, version)
	if err != nil {
		return t, err
	}
	var whyNot string
	if t.input, whyNot = classes.InputOf(described(cfg)); whyNot != "" {
		return t, failure.New(failure.Invalid, "model %s does not take one image: %s", failure.Quote(model), whyNot)
	}
	t.plan, err = jobs.PlanOf(cfg, version)
	return t, err
}

// described is a model's metadata as far as its configuration says it. The model
// itself is not asked: an ensemble has none while one of its steps is away, and that
// is no reason to refuse a job, whose items can wait.
func described(cfg *inference.ModelConfig) *inference.ModelMetadataResponse {
	m := &inference.ModelMetadataResponse{Name: cfg.GetName()}
	for _, in := range cfg.GetInput() {
		m.Inputs = append(m.Inputs, &inference.ModelMetadataResponse_TensorMetadata{
			Name: in.GetName(), Datatype: oip.Datatype(in.GetDataType()), Shape: oip.WireShape(cfg.GetMaxBatchSize(), in.GetDims()),
		})
	}
	return m
}
