package upstream_test

import (
	"context"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
)

// hang is a server that never says what it serves.
type hang struct {
	inference.GRPCInferenceServiceServer
	asked chan<- struct{}
}

// RepositoryIndex waits until the caller goes.
func (h hang) RepositoryIndex(ctx context.Context, _ *inference.RepositoryIndexRequest) (*inference.RepositoryIndexResponse, error) {
	h.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

func hanging(asked chan<- struct{}) func(*modelserver.Service) inference.GRPCInferenceServiceServer {
	return func(s *modelserver.Service) inference.GRPCInferenceServiceServer { return hang{s, asked} }
}
