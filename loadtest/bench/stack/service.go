package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"

	"triptych/loadtest/bench/server"
)

// Service is one of the processes, at addresses that stay through restarts. Its
// methods may be called concurrently, those that start and end it one at a time.
type Service struct {
	// Name is that of the stage, or "preprocess 2".
	Name        string
	command     string
	grpc, admin string
	log         io.Writer
	server      atomic.Pointer[server.Server]
}

func newService(ctx context.Context, name, binary string, flags []string, log io.Writer) (*Service, error) {
	command, grpc, admin, err := server.Ours(ctx, binary, flags)
	if err != nil {
		return nil, err
	}
	return &Service{Name: name, command: command, grpc: grpc, admin: admin, log: log}, nil
}

// Server is the process that runs now, or did last.
func (s *Service) Server() *server.Server { return s.server.Load() }

// Address is that of gRPC.
func (s *Service) Address() string { return s.grpc }

// Restart starts the process, again where it has ended, and waits until it answers.
func (s *Service) Restart(ctx context.Context) error {
	if old := s.Server(); old != nil {
		if err := old.Stop(); err != nil {
			return err
		}
	}
	started, err := server.Start(ctx, s.command, s.grpc, s.log)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	s.server.Store(started)
	return nil
}

// Kill ends the process at once, by SIGKILL.
func (s *Service) Kill() error { return s.Server().Kill() }

// Pause stops the process where it is, by SIGSTOP: it keeps its connections and
// answers nobody.
func (s *Service) Pause() error { return s.Server().Signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (s *Service) Resume() error { return s.Server().Signal(syscall.SIGCONT) }

func (s *Service) stop() error {
	running := s.Server()
	if running == nil {
		return nil
	}
	if !running.Ended() {
		// One that is paused would not hear that it has to end.
		return errors.Join(s.Resume(), running.Stop())
	}
	return running.Stop()
}
