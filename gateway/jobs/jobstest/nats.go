package jobstest

import (
	"net"
	"sync"
	"testing"
	"time"

	"triptych/shared/failure"
	"triptych/shared/stream/embedded"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// NATS is a server that can be stopped and started again on what it has stored. Safe
// for concurrent use.
type NATS struct {
	tb        testing.TB
	directory string
	mu        sync.Mutex
	server    *embedded.Server // nil while it is away
}

func startNATS(tb testing.TB) *NATS {
	tb.Helper()
	n := &NATS{tb: tb, directory: tb.TempDir()}
	n.start()
	tb.Cleanup(n.stop)
	return n
}

func (n *NATS) start() {
	n.tb.Helper()
	s, err := embedded.Start(natstest.Config(n.directory))
	if err != nil {
		n.tb.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.server = s
}

func (n *NATS) stop() {
	n.mu.Lock()
	s := n.server
	n.server = nil
	n.mu.Unlock()
	if s != nil {
		s.Stop()
	}
}

// InProcessConn implements nats.InProcessConnProvider.
func (n *NATS) InProcessConn() (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil {
		return nil, failure.New(failure.Unavailable, "the server is stopped")
	}
	return n.server.InProcessConn()
}

// Cut stops the NATS server.
func (s *Server) Cut() {
	s.tb.Helper()
	s.NATS.stop()
	testkit.Eventually(s.tb, 10*time.Second, "the loss to be noticed", func() bool { return s.Jobs.Ready() != nil })
}

// Mend starts it again.
func (s *Server) Mend() {
	s.tb.Helper()
	s.NATS.start()
	testkit.Eventually(s.tb, 20*time.Second, "the routes of jobs to be ready again", func() bool { return s.Jobs.Ready() == nil })
}
