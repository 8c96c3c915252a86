package stage

import (
	"context"
	"time"

	"triptych/shared/failure"
)

// loader loads the models in the background, so that the ports are open
// meanwhile.
type loader struct {
	cancel context.CancelFunc
	done   chan struct{}
	failed chan error // why the service has to end
}

// loadRetry is the pause before a repository that can't be read is tried again.
const loadRetry = time.Second

func (s *Stage) load(ctx context.Context) error {
	// Loading ends when this part is stopped, not when the end is asked for.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.loads.cancel, s.loads.done = cancel, make(chan struct{})
	go func() {
		defer close(s.loads.done)
		if !s.loadFirst(ctx) {
			return
		}
		if s.config.Control.ExitOnError {
			if err := s.Registry.Broken(); err != nil {
				s.loads.failed <- err
				return
			}
		}
		s.grpc.SetServing(true)
		if s.config.Control.Mode == controlPoll {
			s.Registry.Poll(ctx, s.config.Control.PollInterval, s.config.Control.Settle)
		}
	}()
	return nil
}

// loadFirst loads what is to be there from the start, and tells whether it came to
// an end.
func (s *Stage) loadFirst(ctx context.Context) bool {
	for ctx.Err() == nil {
		err := s.loadModels(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		s.Telemetry.Logger.Error("models not loaded", "error", err)
		select {
		case <-time.After(loadRetry):
		case <-ctx.Done():
		}
	}
	return false
}

func (s *Stage) loadModels(ctx context.Context) error {
	if s.config.Control.some() {
		return s.Registry.LoadNamed(ctx, s.config.Control.Load)
	}
	return s.Registry.LoadAll(ctx)
}

func (s *Stage) unload(ctx context.Context) error {
	s.loads.cancel()
	if !s.loads.over(ctx) {
		// A backend that loads can't be interrupted: the end of the process does it.
		return failure.Wrap(ctx.Err(), failure.Deadline, "a model was still loading")
	}
	if err := s.Registry.Close(ctx); err != nil {
		return err // a call may still run on what a backend would give back
	}
	return s.closeBackends()
}

// over waits for the end of the loading and tells whether it came before ctx's.
func (l loader) over(ctx context.Context) bool {
	select {
	case <-l.done:
		return true
	default:
	}
	select {
	case <-l.done:
		return true
	case <-ctx.Done():
		return false
	}
}
