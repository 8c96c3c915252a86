// Package stages is the chain without services: the backends of the three stages in
// one process, called one after the other by a plan, with no protocol between them.
// It is what the chain of processes is held against.
package stages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"triptych/proto/inference"
	"triptych/services/postprocess"
	"triptych/services/predictor"
	"triptych/services/preprocess"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/pipeline"
	"triptych/shared/telemetry"
)

// Chain is an ensemble and the models that it calls. Infer may be called
// concurrently.
type Chain struct {
	plan     *pipeline.Plan
	models   map[pipeline.Step]modelserver.Model
	backends []modelserver.Backend
}

// Open loads an ensemble of a repository and the models of its steps, as the services
// would with their defaults. The library is that of ONNX Runtime; where it is empty,
// the usual places are looked at. Close the chain.
func Open(ctx context.Context, repository, ensemble, library string) (*Chain, error) {
	found, err := modelserver.NewRepository(repository)
	if err != nil {
		return nil, err
	}
	c := &Chain{models: map[pipeline.Step]modelserver.Model{}}
	if err := c.open(ctx, found, ensemble, library); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Chain) open(ctx context.Context, repository *modelserver.Repository, ensemble, library string) error {
	if err := c.makeBackends(library); err != nil {
		return err
	}
	spec, err := specOf(repository, ensemble, "")
	if err != nil {
		return err
	}
	if c.plan, err = pipeline.Compile(spec.Config); err != nil {
		return err
	}
	configs := make([]*inference.ModelConfig, 0, len(c.plan.Steps()))
	for _, step := range c.plan.Steps() {
		spec, err := specOf(repository, step.Model, step.Version)
		if err != nil {
			return err
		}
		if c.models[step], err = c.load(ctx, spec); err != nil {
			return fmt.Errorf("load %s: %w", step.Model, err)
		}
		configs = append(configs, spec.Config)
	}
	return c.plan.Check(configs)
}

func (c *Chain) makeBackends(library string) error {
	tel := telemetry.Discard()
	first, err := preprocess.NewBackend(preprocess.DefaultConfig(), tel)
	if err != nil {
		return err
	}
	cfg := predictor.DefaultConfig()
	cfg.Library = library
	middle, err := predictor.NewBackends(cfg, tel)
	if err != nil {
		return err
	}
	c.backends = append(c.backends, middle...)
	c.backends = append(c.backends, first)
	last, err := postprocess.NewBackend(postprocess.DefaultConfig(), tel)
	if err == nil {
		c.backends = append(c.backends, last)
	}
	return err
}

// specOf reads a version of a model, or the latest where it is empty.
func specOf(repository *modelserver.Repository, name, version string) (modelserver.Spec, error) {
	entry, err := repository.Find(name)
	if err == nil {
		err = entry.Err
	}
	if err != nil {
		return modelserver.Spec{}, err
	}
	spec := modelserver.Spec{Config: entry.Document.Config, Version: 1, Directory: entry.Directory}
	if version != "" {
		spec.Version, err = strconv.ParseInt(version, 10, 64)
		return spec, err
	}
	there, err := modelconfig.Versions(entry.Directory)
	if len(there) > 0 {
		spec.Version = slices.Max(there)
	}
	return spec, err
}

func (c *Chain) load(ctx context.Context, spec modelserver.Spec) (modelserver.Model, error) {
	name := modelconfig.BackendOf(spec.Config)
	at := slices.IndexFunc(c.backends, func(b modelserver.Backend) bool { return b.Name() == name })
	if at < 0 {
		return nil, fmt.Errorf("there is no backend %q", name)
	}
	model, err := c.backends[at].Load(ctx, spec)
	if err != nil {
		return nil, err
	}
	if warmer, ok := model.(modelserver.Warmer); ok {
		if err := warmer.WarmUp(ctx); err != nil {
			return nil, errors.Join(err, model.Close())
		}
	}
	return model, nil
}

// Infer takes one request through all steps.
func (c *Chain) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	return c.plan.Execute(ctx, req, func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		return c.models[pipeline.Step{Model: req.GetModelName(), Version: req.GetModelVersion()}].Infer(ctx, req)
	})
}

// Close gives back what the chain holds. No request may be running.
func (c *Chain) Close() error {
	var errs []error
	for _, model := range c.models {
		if model != nil {
			errs = append(errs, model.Close())
		}
	}
	for _, backend := range c.backends {
		if closer, ok := backend.(io.Closer); ok {
			errs = append(errs, closer.Close())
		}
	}
	return errors.Join(errs...)
}
