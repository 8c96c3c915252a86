// Package natstest runs a real NATS server for a test, in the test's own process
// and folder. Only tests import it.
package natstest

import (
	"context"
	"testing"
	"time"

	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/stream/embedded"
	"triptych/shared/telemetry"
)

// Server starts a server that ends with the test.
func Server(tb testing.TB) *embedded.Server {
	tb.Helper()
	s, err := embedded.Start(embedded.Config{Directory: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Stop)
	return s
}

// Store is the jobs of a server, made with the default limits unless change says
// otherwise. Its connection ends with the test.
func Store(tb testing.TB, s *embedded.Server, change ...func(*stream.Config)) *jobs.Store {
	tb.Helper()
	cfg := stream.DefaultConfig()
	cfg.InProcess = s
	for _, c := range change {
		c(&cfg)
	}
	conn, err := stream.Connect(cfg, "test", telemetry.Discard())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	if err := conn.Ensure(ctx); err != nil {
		tb.Fatal(err)
	}
	return jobs.New(conn)
}
