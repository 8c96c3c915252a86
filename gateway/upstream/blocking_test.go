package upstream_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/testkit/servertest"
)

// blocking is a server whose model "a" waits in each call until it is released.
type blocking struct {
	*servertest.Server
	running chan struct{} // one for each call that begins
	release chan struct{}
	begun   atomic.Int64
}

func block(t *testing.T, address string) *blocking {
	t.Helper()
	b := &blocking{running: make(chan struct{}, 1000), release: make(chan struct{})}
	files := map[string]string{"a/config.pbtxt": servertest.MapConfig("block")}
	b.Server = servertest.Start(t, servertest.Options{Address: address, Folders: []string{servertest.Repository(t, files)}}, servertest.Backend{
		Kind: "block", OnLoad: func(context.Context, modelserver.Spec) (modelserver.Model, error) {
			return servertest.Model{OnInfer: b.infer}, nil
		},
	})
	return b
}

func (b *blocking) infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	b.begun.Add(1)
	b.running <- struct{}{}
	select {
	case <-b.release:
		return servertest.Map(func(x float32) float32 { return x }).Infer(ctx, req)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// within is a context that ends after a while.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}
