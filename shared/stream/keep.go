package stream

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"triptych/shared/app"
	"triptych/shared/failure"
)

const (
	// look is the pause between two looks at whether all streams are there.
	look = 5 * time.Second
	// firstRetry and lastRetry are the pauses after a look that has failed.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 5 * time.Second
	// lookTimeout bounds one look.
	lookTimeout = 10 * time.Second
	// sweepEvery is the pause between two sweeps, which find only what a crash has left.
	sweepEvery   = time.Hour
	sweepTimeout = 5 * time.Minute
)

// keeper sees to it, for as long as the connection is used, that the streams are
// there: at the start, whenever NATS comes back, and again when some are gone, for
// those in memory do not survive the server.
type keeper struct {
	conn *Connection
	woke chan struct{}
	stop context.CancelFunc
	runs sync.WaitGroup

	mu     sync.Mutex
	kept   bool // it runs, so that wrong counts
	wrong  error
	models map[string]bool
}

func newKeeper(c *Connection) *keeper {
	return &keeper{conn: c, woke: make(chan struct{}, 1), models: map[string]bool{}}
}

// Part keeps the streams while a program runs and closes the connection at its end.
// A program starts also when NATS is away.
func (c *Connection) Part() app.Part {
	return app.Part{
		Name: "NATS",
		Start: func(ctx context.Context) error {
			c.keeper.start(context.WithoutCancel(ctx))
			return nil
		},
		Stop: func(context.Context) error {
			c.keeper.end()
			c.Close()
			return nil
		},
	}
}

func (k *keeper) start(ctx context.Context) {
	ctx, k.stop = context.WithCancel(ctx)
	k.mu.Lock()
	k.kept, k.wrong = true, failure.New(failure.Unavailable, "the streams of jobs are not there yet")
	k.mu.Unlock()
	k.runs.Go(func() { k.run(ctx) })
	if !k.conn.config.Follow {
		k.runs.Go(func() { k.sweep(ctx) })
	}
}

func (k *keeper) end() {
	if k.stop != nil {
		k.stop()
	}
	k.runs.Wait()
}

// wake asks for a look at once.
func (k *keeper) wake() {
	select {
	case k.woke <- struct{}{}:
	default:
	}
}

// know remembers a model whose queue was made, so that it is made again when it is
// gone.
func (k *keeper) know(model string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.models[model] = true
}

func (k *keeper) known() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.models))
}

func (k *keeper) state() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wrong
}

func (k *keeper) run(ctx context.Context) {
	// applied is set when everything was as it must be since NATS was last connected.
	applied, retry := false, firstRetry
	for ctx.Err() == nil {
		err := k.look(ctx, &applied)
		k.tell(ctx, err)
		pause := look
		if err != nil {
			pause = retry + rand.N(retry)
			retry = min(2*retry, lastRetry)
		} else {
			retry = firstRetry
		}
		select {
		case <-ctx.Done():
		case <-k.woke:
			applied, retry = false, firstRetry
		case <-time.After(pause):
		}
	}
}

// look makes everything as it must be once for each connection, and from then on
// only what is missing.
func (k *keeper) look(ctx context.Context, applied *bool) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if err := k.conn.connected(); err != nil {
		return err
	}
	if *applied {
		missing, err := k.conn.missing(ctx, k.known())
		if err != nil || !missing {
			return err
		}
	}
	if err := k.conn.Ensure(ctx); err != nil {
		return err
	}
	for _, model := range k.known() {
		if err := k.conn.EnsureModel(ctx, model); err != nil {
			return err
		}
	}
	*applied = true
	return nil
}

// tell keeps what a look has found, and logs what has changed.
func (k *keeper) tell(ctx context.Context, err error) {
	k.mu.Lock()
	before := k.wrong
	k.wrong = err
	k.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err != nil && failure.Message(err) != failure.Message(before):
		k.conn.logger.Warn("the streams of jobs are not there", "error", err)
	case err == nil && before != nil:
		k.conn.logger.Info("the streams of jobs are there")
	}
}

// sweep looks for what crashes have left, now and then.
func (k *keeper) sweep(ctx context.Context) {
	s := &sweeper{conn: k.conn}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepEvery):
		}
		sweeping, cancel := context.WithTimeout(ctx, sweepTimeout)
		if err := s.sweep(sweeping, Blobs); err != nil && ctx.Err() == nil {
			k.conn.logger.Warn("what crashes have left in the object store was not looked for", "error", err)
		}
		cancel()
	}
}
