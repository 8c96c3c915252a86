// Package natstest runs a real NATS server for a test, in the test's own process
// and folder. Only tests import it.
package natstest

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/stream/embedded"
	"triptych/shared/telemetry"
)

// room is what a test's server may keep in files. Streams set their limits aside from
// it and fill little of it, so it does not depend on how full this machine's disk is.
const room = 64 << 30

// Config is that of a server which keeps its files in a directory.
func Config(directory string) embedded.Config {
	return embedded.Config{Directory: directory, MaxBytes: room}
}

// Server starts a server that ends with the test.
func Server(tb testing.TB, change ...func(*embedded.Config)) *embedded.Server {
	tb.Helper()
	cfg := Config(tb.TempDir())
	for _, c := range change {
		c(&cfg)
	}
	s, err := embedded.Start(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Stop)
	return s
}

// Outer starts a server as others run it, on a port of loopback, with options of the
// test's own, and gives its URL. It ends with the test.
func Outer(tb testing.TB, change func(*server.Options)) (*server.Server, string) {
	tb.Helper()
	options := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: tb.TempDir(), JetStreamMaxStore: room,
		NoLog: true, NoSigs: true,
	}
	change(options)
	s, err := server.NewServer(options)
	if err != nil {
		tb.Fatal(err)
	}
	s.Start()
	tb.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		tb.Fatal("the NATS server is not ready")
	}
	return s, s.ClientURL()
}

// Connect connects to a server with the default limits unless change says otherwise.
// It makes nothing there. The connection ends with the test.
func Connect(tb testing.TB, change ...func(*stream.Config)) *stream.Connection {
	tb.Helper()
	cfg := stream.DefaultConfig()
	for _, c := range change {
		c(&cfg)
	}
	conn, err := stream.Connect(cfg, "test", telemetry.Discard())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

// In makes a connection use a server in this process.
func In(s *embedded.Server) func(*stream.Config) {
	return func(c *stream.Config) { c.InProcess = s }
}

// Store is the jobs of a server, made with the default limits unless change says
// otherwise. Its connection ends with the test.
func Store(tb testing.TB, s *embedded.Server, change ...func(*stream.Config)) *jobs.Store {
	tb.Helper()
	conn := Connect(tb, append([]func(*stream.Config){In(s)}, change...)...)
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	if err := conn.Ensure(ctx); err != nil {
		tb.Fatal(err)
	}
	return jobs.New(conn)
}
