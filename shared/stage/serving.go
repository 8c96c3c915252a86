package stage

import (
	"context"
	"time"

	"triptych/proto/inference"
	"triptych/shared/worker"
)

// serving is the stage's models as the door of jobs sees them.
type serving struct{ *Stage }

var _ worker.Models = serving{}

// Serving implements worker.Models.
func (s serving) Serving() []string {
	var names []string
	for _, m := range s.Registry.Index(true) {
		if len(names) == 0 || names[len(names)-1] != m.GetName() {
			names = append(names, m.GetName())
		}
	}
	return names
}

// Config implements worker.Models.
func (s serving) Config(model string) (*inference.ModelConfig, error) {
	return s.Registry.Config(model, "")
}

// Unwatched implements worker.Models.
func (s serving) Unwatched() time.Duration { return s.Service.Unwatched() }

// ModelInfer implements worker.Models.
func (s serving) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	return s.Service.ModelInfer(ctx, req)
}
