package gate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"triptych/gateway/admission/limit"
	"triptych/gateway/admission/queue"
	"triptych/gateway/queued"
	"triptych/shared/failure"
)

// gate is that of one model.
type gate struct {
	model string
	all   *Gates
	users atomic.Int64 // requests that hold it
	known atomic.Bool  // the model has been seen to serve

	mu      sync.Mutex // guards what follows
	limit   *limit.Limit
	flying  int
	waiting queue.Queue[*waiter]
	pace    pace
	used    time.Time
	refused [reasons][queue.Levels + 1]uint64
}

// waiter is one who waits.
type waiter struct {
	caller caller
	turn   chan error // has one value: nil, or why it is refused
	place  *queue.Item[*waiter]
}

func newGate(model string, all *Gates) *gate {
	return &gate{model: model, all: all, limit: limit.New(all.cfg.Limit)}
}

// Pass is a request's leave to be worked on.
type Pass struct {
	gate  *gate
	since time.Time
	once  sync.Once
	// queued is how long the request waited inside, in the stages.
	queued queued.Wait
	// Waited is how long the request waited for it.
	Waited time.Duration
}

// enter lets a request in, at once or when it is its turn.
func (g *gate) enter(ctx context.Context, c caller) (*Pass, error) {
	began := time.Now()
	w, err := g.ask(began, c)
	if err != nil {
		c.account.refused.Add(1)
		return nil, err
	}
	if w == nil {
		return g.pass(c, began, began), nil
	}
	if err := g.wait(ctx, w); err != nil {
		c.account.refused.Add(1)
		return nil, err
	}
	return g.pass(c, began, time.Now()), nil
}

func (g *gate) pass(c caller, began, now time.Time) *Pass {
	c.account.admitted.Add(1)
	p := &Pass{gate: g, since: now, Waited: now.Sub(began)}
	if g.known.Load() {
		g.all.waited.WithLabelValues(g.model).Observe(p.Waited.Seconds())
	}
	return p
}

// ask lets a request in, or into the queue, which is when there is a waiter.
func (g *gate) ask(now time.Time, c caller) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used = now
	if g.open() {
		g.flying++
		return nil, nil
	}
	g.pace.look(now, g.waiting.Len())
	for {
		r, after, loser := g.verdict(now, c)
		if r != admitted {
			return nil, g.refuse(r, c.level, after)
		}
		if loser == nil {
			break
		}
		g.push(loser)
	}
	w := &waiter{caller: c, turn: make(chan error, 1)}
	w.place = g.waiting.Push(c.level, c.tenant, w)
	g.pace.look(now, g.waiting.Len())
	return w, nil
}

// open tells whether a newcomer can go in at once.
func (g *gate) open() bool { return g.waiting.Len() == 0 && g.flying < g.limit.Now() }

// verdict is why a newcomer who can't go in at once is refused, and how long it would
// wait; or admitted, to the queue, out of which the loser has to go first if there is
// one.
func (g *gate) verdict(now time.Time, c caller) (r reason, after time.Duration, loser *waiter) {
	r, after = g.hopeless(now, c)
	if r != admitted || g.waiting.Len() < g.places() {
		return r, after, nil
	}
	if item := g.waiting.Loser(c.level, c.tenant); item != nil {
		return admitted, after, item.Value
	}
	return full, after, nil
}

// push puts one out of the queue for a newcomer.
func (g *gate) push(w *waiter) {
	g.unqueue(w)
	w.turn <- g.refuse(pushed, w.caller.level, g.waitFor(w.caller))
}

func (g *gate) unqueue(w *waiter) {
	g.waiting.Remove(w.place)
	w.place = nil
}

// check is what ask would say, and changes nothing but the count of refusals.
func (g *gate) check(ctx context.Context, c caller) error {
	if err := failure.OfContext(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.open() {
		return nil
	}
	g.pace.look(now, g.waiting.Len())
	r, after, _ := g.verdict(now, c)
	if r == admitted {
		return nil
	}
	g.used = now
	c.account.refused.Add(1)
	return g.refuse(r, c.level, after)
}
