package gate

import (
	"context"
	"time"

	"triptych/shared/failure"
)

// wait waits for its turn, no longer than anyone may.
func (g *gate) wait(ctx context.Context, w *waiter) error {
	patience := time.NewTimer(g.all.cfg.MaxWait)
	defer patience.Stop()
	select {
	case err := <-w.turn:
		return err
	case <-ctx.Done():
	case <-patience.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.place == nil { // its turn came at the same moment
		return g.comeAnyway(ctx, w, <-w.turn)
	}
	g.unqueue(w)
	g.pace.look(time.Now(), g.waiting.Len())
	if err := failure.OfContext(ctx); err != nil {
		g.count(reasonOf(err), w.caller.level)
		return err
	}
	return g.refuse(patient, w.caller.level, g.waitFor(w.caller))
}

// comeAnyway is for one whose turn came when it had just gone: the next may go.
func (g *gate) comeAnyway(ctx context.Context, w *waiter, refused error) error {
	gone := failure.OfContext(ctx)
	if refused != nil || gone == nil {
		return refused
	}
	g.count(reasonOf(gone), w.caller.level)
	g.flying--
	g.dispatch(time.Now())
	return gone
}

// dispatch lets those in whose turn it is. One that could not be answered in time
// is told so instead: its work would be for nothing.
func (g *gate) dispatch(now time.Time) {
	for g.waiting.Len() > 0 && g.flying < g.limit.Now() {
		item, _ := g.waiting.Pop()
		w := item.Value
		w.place = nil
		if w.caller.left(now) < g.pace.needs() {
			w.turn <- g.refuse(late, w.caller.level, g.waitFor(w.caller))
			continue
		}
		g.flying++
		w.turn <- nil
	}
	g.pace.look(now, g.waiting.Len())
}

// Leave gives the pass back when the request has been answered, with what the answer
// was. Safe to call twice.
func (p *Pass) Leave(err error) {
	p.once.Do(func() {
		p.gate.leave(time.Now(), p, err)
		p.gate.all.untake(p.gate)
	})
}

func (g *gate) leave(now time.Time, p *Pass, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.learn(now, now.Sub(p.since), p.queued.Time(), err)
	g.flying--
	g.dispatch(now)
}

// learn takes note of how a request ended, which is in flight still, and of how long
// it held its pass, of which it waited for a part in the stages.
func (g *gate) learn(now time.Time, held, queued time.Duration, err error) {
	kind := failure.KindOf(err)
	switch {
	case err == nil:
		g.limit.Done(now, held, queued, g.flying)
		g.pace.served(held)
	case kind == failure.Busy:
		g.limit.Refused(now)
	case (kind == failure.Deadline || kind == failure.Cancelled) && held >= g.pace.needs()/2:
		// It had about as long as those that are answered take; with less, its caller may
		// have wanted too much. Were only the answered counted, all that a model needs would
		// seem to be less than it is. Who hangs up has a deadline of which we were not told.
		g.limit.Late(now)
		g.pace.served(held)
	}
	if err == nil || serves(kind) {
		g.known.Store(true)
	}
}

// serves tells whether a failure is that of a model that exists: while the repository
// can't be read every model is unavailable. Of no other there are metrics: a name is a
// caller's free text.
func serves(kind failure.Kind) bool {
	switch kind {
	case failure.Busy, failure.Deadline, failure.BrokenImage, failure.UnsupportedMedia:
		return true
	default:
		return false
	}
}

func (g *gate) idle(least time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Since(g.used) > least
}
