package intake

import (
	"context"

	"triptych/gateway/classes"
	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/jobs"
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
	metadata, err := in.server.ModelMetadata(ctx, &inference.ModelMetadataRequest{Name: model, Version: version})
	if err != nil {
		return t, web.Failure(err)
	}
	var whyNot string
	if t.input, whyNot = classes.InputOf(metadata); whyNot != "" {
		return t, failure.New(failure.Invalid, "model %s does not take one image: %s", failure.Quote(model), whyNot)
	}
	t.plan, err = jobs.PlanOf(cfg, version)
	return t, err
}
