package upstream

import (
	"context"
	"time"
)

// grace is how long a round waits for a replica that did not answer the last one, or
// that gets no calls: long enough for one that is back, and for a connection that is
// refused.
const grace = 100 * time.Millisecond

// askAll asks the replicas side by side. One that hangs does not keep what the
// others say back for longer than once: it is asked on while the rounds go on, and
// until it answers, or its time is over, what it said last is what it says.
func (p *pool) askAll(ctx context.Context, replicas []*replica) []report {
	for _, r := range replicas {
		r.begin(ctx, p)
	}
	late, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	reports := make([]report, len(replicas))
	for i, r := range replicas {
		r.waitFor(late.Done())
		reports[i] = r.said()
	}
	return reports
}

// begin asks the replica, unless it is being asked. What it answered since the last
// round is old.
func (r *replica) begin(ctx context.Context, p *pool) {
	select {
	case r.last = <-r.asking: // nil is never ready
		r.asking = nil
		if r.last.joined {
			r.away.Store(true) // nobody has welcomed it
		}
	default:
	}
	if r.asking != nil {
		return
	}
	asking := make(chan report, 1)
	r.asking = asking
	p.asks.Go(func() { asking <- r.ask(ctx) })
}

// waitFor waits for the answer: as long as it takes for a replica that is well, and
// until late for another.
func (r *replica) waitFor(late <-chan struct{}) {
	look := time.NewTicker(grace)
	defer look.Stop()
	for {
		var hurry <-chan struct{}
		if !r.well() {
			hurry = late
		}
		select {
		case r.last = <-r.asking:
			r.asking = nil
			return
		case <-hurry:
			return
		case <-look.C: // it may have been left meanwhile
		}
	}
}

// well tells whether an answer is to be expected soon.
func (r *replica) well() bool { return r.last.err == nil && !r.standing.Out() }

// said is what the replica answered in this round, or said last.
func (r *replica) said() report {
	if r.asking == nil {
		return r.last
	}
	old := r.last
	old.replica, old.joined = r, false
	return old
}
