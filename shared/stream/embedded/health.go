package embedded

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"triptych/shared/failure"
)

// health is what the last look has found.
type health struct {
	mu    sync.Mutex
	wrong error
}

func (h *health) set(err error) (before error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, h.wrong = h.wrong, err
	return before
}

// Health says why nothing more should be published now: Unavailable when the disk is
// full but for half of the reserve, or when the server has stopped to write.
func (s *Server) Health() error {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return s.health.wrong
}

// look keeps an eye on the server. A stream whose file could not be written is
// closed by the server for good, and clustered servers switch JetStream off; when
// there is room again, JetStream starts anew here on the same files. What was
// acknowledged is in them. What was kept in memory is gone, as after a crash.
func (s *Server) look(ctx context.Context) {
	tick := time.NewTicker(s.config.Look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		low, broken := s.low(), s.broken()
		if broken != nil && low == nil {
			broken = s.restart(broken)
		}
		if broken == nil {
			broken = low
		}
		s.tell(s.health.set(broken), broken)
	}
}

// tell logs what has changed.
func (s *Server) tell(before, now error) {
	switch {
	case s.config.Logger == nil || (before == nil) == (now == nil):
	case now != nil:
		s.config.Logger.Error("jobs can't be stored", "error", now)
	default:
		s.config.Logger.Info("jobs can be stored again")
	}
}

// low tells whether so little is free on the disk that it must be kept for what
// was accepted already.
func (s *Server) low() error {
	total, free, err := disk(s.config.Directory)
	if err != nil {
		return err
	}
	if least := s.config.reserve(total) / 2; free < least {
		return failure.New(failure.Unavailable, "the disk of %q is full: %d bytes are free, and %d are kept for what was accepted", s.config.Directory, free, least)
	}
	return nil
}

// broken tells whether the server has stopped to write. A stream that is just being
// made or deleted also counts as unhealthy to the server, but not here.
func (s *Server) broken() error {
	if !s.server.JetStreamEnabled() {
		return failure.New(failure.Unavailable, "JetStream has stopped")
	}
	for _, e := range s.server.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if strings.Contains(e.Error, "write error") {
			return failure.New(failure.Unavailable, "the NATS server can't write: %s", e.Error)
		}
	}
	return nil
}

// restart starts JetStream anew. Connections stay.
func (s *Server) restart(why error) error {
	if s.config.Logger != nil {
		s.config.Logger.Warn("JetStream starts anew on its files", "error", why)
	}
	if err := s.server.ShutdownJetStream(); err != nil {
		return failure.Wrap(err, failure.Unavailable, "JetStream can't be stopped")
	}
	room, err := s.config.room()
	if err != nil {
		return err
	}
	cfg := server.JetStreamConfig{StoreDir: s.config.Directory, MaxMemory: s.config.MaxMemory, MaxStore: room, SyncAlways: true, Strict: true, CompressOK: true}
	if err := s.server.EnableJetStream(&cfg); err != nil {
		return failure.Wrap(err, failure.Unavailable, "JetStream can't start anew")
	}
	return s.broken()
}
