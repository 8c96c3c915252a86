package stage

import (
	"context"
	"errors"
	"time"
)

// loader loads the models in the background, so that the ports are open
// meanwhile.
type loader struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// loadRetry is the pause before a repository that can't be read is tried again.
const loadRetry = time.Second

func (s *Stage) load(context.Context) error {
	// Not a child of the context of the start: loading ends when the stage stops.
	ctx, cancel := context.WithCancel(context.Background())
	s.loads = loader{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.loads.done)
		for ctx.Err() == nil {
			err := s.Registry.LoadAll(ctx)
			if err == nil {
				s.grpc.SetServing(true)
				return
			}
			s.Telemetry.Logger.Error("models not loaded", "error", err)
			select {
			case <-time.After(loadRetry):
			case <-ctx.Done():
			}
		}
	}()
	return nil
}

func (s *Stage) unload(ctx context.Context) error {
	s.loads.cancel()
	<-s.loads.done
	err := s.Registry.Close(ctx)
	for _, c := range s.closes {
		err = errors.Join(err, c.Close())
	}
	return err
}
