package upstream

import (
	"context"
	"errors"
	"time"

	"triptych/gateway/upstream/standing"
	"triptych/shared/failure"
)

// leftFor is why a replica is left.
type leftFor uint8

const (
	leftSilent leftFor = iota // it answered nothing for long, while others did
	leftRow                   // it failed too often in a row, or on trial
	leftOften                 // it fails far more often than the others
	leftReasons
)

// reasons are what metrics and logs call them.
var reasons = [leftReasons]string{leftSilent: "silent", leftRow: "failing", leftOften: "often"}

// A replica fails far more often than others when of some calls at least this part
// failed, and of theirs not even a third of that.
const (
	oftenCalls   = 10
	oftenPercent = 25
)

// judge learns from how a call ended.
func (f *Fleet) judge(ctx context.Context, r *replica, t target, onTrial bool, err error, now time.Duration) {
	v := verdict(ctx, err)
	if onTrial && errors.Is(context.Cause(ctx), errOvertaken) {
		v = standing.Bad // it was silent again
	}
	if answered(err) {
		r.heard.Store(int64(now))
	}
	if len(t.replicas) == 1 && !onTrial {
		return // nobody would take its place
	}
	at := time.Now()
	too, back := r.standing.End(at, v, onTrial)
	switch {
	case back:
		r.returns.Add(1)
		f.logger.Info("a replica is back", "upstream", r.pool.name, "replica", r.address)
	case too:
		f.leave(r, t, leftRow)
	case v == standing.Bad && f.oftener(r, t, at):
		f.leave(r, t, leftOften)
	}
}

// answered tells whether a replica said something, whatever it was.
func answered(err error) bool {
	if err == nil {
		return true
	}
	var f *failure.Error
	if !errors.As(err, &f) {
		return false
	}
	if f.Cause == nil {
		return true // its own words
	}
	switch f.Kind {
	case failure.Unavailable, failure.Deadline, failure.Cancelled:
		return false // that is what gRPC itself says
	default:
		return true
	}
}

// verdict is what the end of a call says of the replica. That it is busy, or that it
// has not got a model, is no fault of its own; a deadline may be as short as a caller
// wants, and who lets all of them pass is silent.
func verdict(ctx context.Context, err error) standing.Verdict {
	switch kind := failure.KindOf(err); {
	case err == nil:
		return standing.Good
	case ctx.Err() != nil:
		return standing.None
	case kind == failure.Internal, kind == failure.Unavailable && !answered(err):
		return standing.Bad
	case answered(err) && kind != failure.Unavailable && kind != failure.Deadline:
		return standing.Good
	default:
		return standing.None
	}
}

// oftener tells whether a replica fails far more often than the others.
func (f *Fleet) oftener(r *replica, t target, now time.Time) bool {
	failed, calls := r.standing.Failures(now)
	if calls < oftenCalls || failed*100 < calls*oftenPercent {
		return false
	}
	othersFailed, others := 0, 0
	for _, o := range t.replicas {
		if o != r {
			bad, all := o.standing.Failures(now)
			othersFailed, others = othersFailed+bad, others+all
		}
	}
	return others >= oftenCalls && 3*othersFailed*calls < failed*others
}

// leave gives a replica no calls for a while, unless too many others get none. A
// silent one can't do anything: it may always be left, but for the last.
func (f *Fleet) leave(r *replica, t target, why leftFor) {
	f.leaving.Lock()
	defer f.leaving.Unlock()
	out := 0
	for _, o := range t.replicas {
		if o != r && o.standing.Out() {
			out++
		}
	}
	most := max(1, len(t.replicas)*f.config.MaxEjectedPercent/100)
	if why == leftSilent {
		most = len(t.replicas)
	}
	onTrial := r.standing.Out()
	if most = min(most, len(t.replicas)-1); out >= most && !onTrial {
		return
	}
	if !r.standing.Leave(time.Now(), why == leftSilent) {
		return
	}
	r.left[why].Add(1)
	f.logger.Warn("a replica gets no calls", "upstream", r.pool.name, "replica", r.address, "reason", reasons[why])
}
