package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/shared/failure"
)

// errOvertaken ends a call whose second one was answered.
var errOvertaken = errors.New("another replica answered first")

// result is what came of a call at one replica.
type result[R any] struct {
	answer R
	peer   string
	err    error
	queue  time.Duration // what requests have waited there lately, as far as is known
}

// flight is a call that may get a second one beside it, at another replica, while
// the first is under way: when the first replica is silent, or takes longer than
// calls do. The first of both that is answered counts, and the other is cancelled.
type flight[R any] struct {
	fleet  *Fleet
	target target
	ask    ask[R]
	ctx    context.Context
	first  *replica
	begun  time.Duration
	cancel context.CancelCauseFunc // the call at the first

	mu     sync.Mutex
	over   bool               // the first has ended: no second begins
	beside context.CancelFunc // the call at the second, while there is one
	second result[R]          // what counts, once overtaken
	won    bool
	calls  sync.WaitGroup // of the second
}

// fly makes a call at a replica, and another beside it if need be.
func (f *flight[R]) fly(onTrial bool) result[R] {
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	f.cancel, f.begun = cancel, f.fleet.since()
	ticket := f.first.flights.add(f)
	stop := f.hedgeLater()
	got := call(ctx, f.fleet, f.first, f.target, onTrial, f.ask)
	stop()
	f.first.flights.remove(ticket)
	return f.land(got)
}

// land is what came of the call, whose first part has ended.
func (f *flight[R]) land(got result[R]) result[R] {
	f.mu.Lock()
	f.over = true
	beside := f.beside
	f.mu.Unlock()
	if beside != nil && final(got.err) {
		beside() // the first was faster
	}
	f.calls.Wait()
	if f.won {
		return f.second
	}
	return got
}

// final tells whether the answer, or the failure, of one replica is that of all: it
// does not speak of the replica.
func final(err error) bool {
	if err == nil {
		return true
	}
	switch failure.KindOf(err) {
	case failure.Unavailable, failure.Busy, failure.Deadline, failure.Cancelled:
		return false
	default:
		return true
	}
}

// since is when the call began.
func (f *flight[R]) since() time.Duration { return f.begun }

// at is what is called.
func (f *flight[R]) at() target { return f.target }

// hedge makes the second call, if there is a place for it and the budget has room.
// False says that there is none.
func (f *flight[R]) hedge(why string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || f.beside != nil || !f.target.pure || f.ctx.Err() != nil {
		return false
	}
	other := f.place()
	if other == nil || !f.first.pool.again(&f.first.pool.hedges) {
		return false
	}
	trace.SpanFromContext(f.ctx).AddEvent("hedge", trace.WithAttributes(
		attribute.String("triptych.reason", why), attribute.String("server.address", other.address)))
	ctx, cancel := context.WithCancel(f.ctx)
	f.beside = cancel
	f.calls.Go(func() { f.run(ctx, other) })
	return true
}

// place is where a second call can be made: at none that is on trial, or silent, or
// else nobody might answer either.
func (f *flight[R]) place() *replica {
	other, onTrial := f.fleet.pick(f.target, f.first)
	if onTrial {
		f.fleet.spare(other)
		return nil
	}
	least := f.fleet.config.StallAfter
	if other == nil || least == 0 {
		return other
	}
	if silence, _ := other.silent(f.fleet.since()); silence >= least {
		return nil
	}
	return other
}

// run makes the second call. When it says nothing about the request, the first goes
// on, and there may be another.
func (f *flight[R]) run(ctx context.Context, other *replica) {
	got := call(ctx, f.fleet, other, f.target, false, f.ask)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beside()
	f.beside = nil
	if final(got.err) {
		f.second, f.won = got, true
		f.first.pool.hedgesWon.Add(1)
		f.cancel(errOvertaken)
	}
}

// hedgeLater has the second call made when this one takes longer than most, if that
// is wanted. The function that it returns takes that back.
func (f *flight[R]) hedgeLater() (stop func()) {
	after := f.fleet.hedgeAfter(f.target)
	if after == 0 {
		return func() {}
	}
	timer := time.AfterFunc(after, func() { f.hedge("slow") })
	return func() { timer.Stop() }
}
