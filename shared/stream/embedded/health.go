package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"triptych/shared/failure"
)

// health is what the last look has found.
type health struct {
	mu          sync.Mutex
	broken, low error
}

// Health says why nothing can be stored now: Unavailable when the server has stopped
// to write.
func (s *Server) Health() error {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return s.health.broken
}

// Low says why no more should be taken in: Unavailable when the disk is full but for
// half of the reserve, which is for what was accepted.
func (s *Server) Low() error {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return s.health.low
}

// watch keeps an eye on the server. A stream whose file could not be written is
// closed by the server for good, and clustered servers switch JetStream off; when
// there is room again, JetStream starts anew here on the same files. What was
// acknowledged is in them. What was kept in memory is gone, as after a crash.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(s.config.Look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.look()
		}
	}
}

func (s *Server) look() {
	low, broken := s.low(), s.broken()
	if broken != nil && low == nil {
		broken = s.restart(broken)
	}
	s.health.mu.Lock()
	wasLow, wasBroken := s.health.low, s.health.broken
	s.health.low, s.health.broken = low, broken
	s.health.mu.Unlock()
	s.tell("jobs can't be stored", "jobs can be stored again", wasBroken, broken)
	s.tell("no new jobs are taken", "new jobs are taken again", wasLow, low)
}

// tell logs what has changed.
func (s *Server) tell(bad, good string, before, now error) {
	switch {
	case s.config.Logger == nil || (before == nil) == (now == nil):
	case now != nil:
		s.config.Logger.Error(bad, "error", now)
	default:
		s.config.Logger.Info(good)
	}
}

// low tells whether so little is free on the disk that it must be kept for what
// was accepted already.
func (s *Server) low() error {
	total, free, err := disk(s.config.Directory)
	if err != nil {
		return err
	}
	// The server writes on into files that were deleted, and loses them at its end.
	if cfg := s.server.JetStreamConfig(); cfg != nil {
		if _, err := os.Stat(cfg.StoreDir); err != nil {
			return failure.Wrap(err, failure.Unavailable, "the files of the job store are gone")
		}
	}
	if least := s.config.reserve(total) / 2; free < least {
		return failure.Wrap(fmt.Errorf("%d bytes are free on the disk of %q, %d are kept for what was accepted", free, s.config.Directory, least),
			failure.Unavailable, "the disk of the job store is full")
	}
	return nil
}

// broken tells whether the server has stopped to write. A stream that is just being
// made or deleted also counts as unhealthy to the server, but not here.
func (s *Server) broken() error {
	if !s.server.JetStreamEnabled() {
		return failure.New(failure.Unavailable, "the job store has stopped")
	}
	for _, e := range s.server.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if strings.Contains(e.Error, "write error") {
			return failure.Wrap(errors.New(e.Error), failure.Unavailable, "the job store can't write to its disk")
		}
	}
	return nil
}

// restart starts JetStream anew. Connections stay.
func (s *Server) restart(why error) error {
	if s.config.Logger != nil {
		s.config.Logger.Warn("JetStream starts anew on its files", "error", why)
	}
	s.finish()
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
