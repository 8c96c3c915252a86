// Package clustertest runs the real services for tests. It is for tests alone.
package clustertest

import (
	"context"
	"io"
	"testing"
	"time"

	"triptych/cli/cluster"
)

// patience is how long the services may take to be ready.
const patience = time.Minute

// Up runs all services with the models of a repository until the test ends, which
// fails unless they stop in order. It wants so many models to be served, and none
// not to be. Change, if any, is made to the settings.
func Up(t *testing.T, repository string, models int, change ...func(*cluster.Config)) cluster.Addresses {
	t.Helper()
	cfg := cluster.DefaultConfig()
	cfg.Common.Repository = []string{repository}
	cfg.Common.GRPCAddress, cfg.Common.Admin.Address, cfg.Gateway.Front.Address = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Gateway.Upstreams.Interval = 100 * time.Millisecond
	for _, c := range change {
		c(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan cluster.Ready, 1), make(chan error, 1)
	go func() { ended <- cluster.Run(ctx, cfg, io.Discard, func(r cluster.Ready) { ready <- r }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
	select {
	case r := <-ready:
		if r.Models != models || r.Failed != 0 {
			t.Fatalf("ready with %d models, and %d not served, want %d and 0", r.Models, r.Failed, models)
		}
		return r.Addresses
	case err := <-ended:
		ended <- nil
		t.Fatalf("ended before it was ready: %v", err)
	case <-time.After(patience):
		t.Fatalf("not ready after %s", patience)
	}
	return cluster.Addresses{}
}
