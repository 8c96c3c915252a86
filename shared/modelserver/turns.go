package modelserver

import (
	"context"
	"sync"

	"triptych/shared/failure"
)

// turns let one operation at a time change a model, those of different models
// side by side, and none begin after the end.
type turns struct {
	mu     sync.Mutex
	names  map[string]*turn
	closed bool
	idle   chan struct{} // closed when closed and no operation is left
}

// turn is the operations on one model: the one that runs and those that wait.
type turn struct {
	all   *turns
	name  string
	held  chan struct{} // has room for the one that runs
	users int
	stop  context.CancelCauseFunc // of the load that runs, if one does
}

func newTurns() *turns {
	return &turns{names: map[string]*turn{}, idle: make(chan struct{})}
}

func stopping(name string) error {
	return failure.New(failure.Unavailable, "model %q can't be changed: the server is stopping", name)
}

// begin waits for the turn to change a model; its end must follow.
func (t *turns) begin(ctx context.Context, name string) (*turn, error) {
	one := t.join(name)
	if one == nil {
		return nil, stopping(name)
	}
	select {
	case one.held <- struct{}{}:
	default:
		select {
		case one.held <- struct{}{}:
		case <-ctx.Done():
			one.leave()
			return nil, failure.OfContext(ctx)
		}
	}
	if t.isClosed() {
		one.end()
		return nil, stopping(name)
	}
	return one, nil
}

func (t *turns) join(name string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	one := t.names[name]
	if one == nil {
		one = &turn{all: t, name: name, held: make(chan struct{}, 1)}
		t.names[name] = one
	}
	one.users++
	return one
}

func (t *turns) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

func (t *turn) end() {
	<-t.held
	t.leave()
}

func (t *turn) leave() {
	all := t.all
	all.mu.Lock()
	defer all.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(all.names, t.name)
	}
	if all.closed && len(all.names) == 0 {
		close(all.idle)
	}
}

// work makes the context of a load that runs in this turn one that a later
// operation can end; done must follow.
func (t *turn) work(ctx context.Context) (work context.Context, done func()) {
	work, stop := context.WithCancelCause(ctx)
	t.setStop(stop)
	return work, func() { t.setStop(nil); stop(nil) }
}

func (t *turn) setStop(stop context.CancelCauseFunc) {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.stop = stop
}

// giveUp ends the load of a model that runs now, if one does, for a reason.
func (t *turns) giveUp(name string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.names[name]; one != nil && one.stop != nil {
		one.stop(why)
	}
}

// close lets no operation begin any more and waits for those that have begun. It
// may be called again.
func (t *turns) close(ctx context.Context) error {
	t.mu.Lock()
	if !t.closed && len(t.names) == 0 {
		close(t.idle)
	}
	t.closed = true
	t.mu.Unlock()
	select {
	case <-t.idle:
		return nil
	default:
	}
	select {
	case <-t.idle:
		return nil
	case <-ctx.Done():
		return failure.OfContext(ctx)
	}
}
