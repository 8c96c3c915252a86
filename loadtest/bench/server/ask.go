package server

import (
	"context"
	"fmt"

	"triptych/proto/inference"
)

// Ready waits until a model is ready.
func (s *Server) Ready(ctx context.Context, model string) error {
	return s.Await(ctx, "have "+model+" ready", func(ctx context.Context) bool {
		resp, err := s.client.ModelReady(ctx, &inference.ModelReadyRequest{Name: model})
		return err == nil && resp.GetReady()
	})
}

// Load asks for a model to be loaded, or loaded again.
func (s *Server) Load(ctx context.Context, model string) error {
	_, err := s.client.RepositoryModelLoad(ctx, &inference.RepositoryModelLoadRequest{ModelName: model})
	if err != nil {
		return fmt.Errorf("load %s: %w", model, err)
	}
	return nil
}

// Infer sends one request and gives the answer.
func (s *Server) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	return s.client.ModelInfer(ctx, req)
}

// Counts are what a model has done since it was loaded.
type Counts struct{ Inferences, Executions uint64 }

// Counts asks for those of a model, all versions together.
func (s *Server) Counts(ctx context.Context, model string) (Counts, error) {
	resp, err := s.client.ModelStatistics(ctx, &inference.ModelStatisticsRequest{Name: model})
	if err != nil {
		return Counts{}, fmt.Errorf("statistics of %s: %w", model, err)
	}
	var c Counts
	for _, m := range resp.GetModelStats() {
		c.Inferences += m.GetInferenceCount()
		c.Executions += m.GetExecutionCount()
	}
	return c, nil
}

// Batch is the mean size of the batches since earlier counts; 0 if there were
// none.
func (c Counts) Batch(earlier Counts) float64 {
	if c.Executions <= earlier.Executions {
		return 0
	}
	return float64(c.Inferences-earlier.Inferences) / float64(c.Executions-earlier.Executions)
}
