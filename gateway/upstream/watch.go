package upstream

import (
	"context"
	"time"

	"triptych/proto/inference"
)

// glance is the pause between two looks at the replicas that have calls.
const glance = 50 * time.Millisecond

// How long a replica may be silent: as long as StallAfter and patience times what
// all but a hundredth of its calls take, or, while that is not known, unknownLimit.
const (
	patience     = 5
	enough       = 20 // calls, to know it
	unknownLimit = time.Second
)

// checkTimeout bounds the look whether a replica is well.
const checkTimeout = time.Second

// watch sees to calls at replicas that are silent, and to replicas that are out.
func (f *Fleet) watch(ctx context.Context) {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, p := range f.pools {
			for _, r := range p.all() {
				f.rescue(r)
				f.check(ctx, r)
			}
		}
	}
}

// silent is for how long a replica has answered none of the calls that it has: since
// its last answer, or since the oldest of them began. It is 0, and the oldest nil, when
// it has none.
func (r *replica) silent(now time.Duration) (silence time.Duration, oldest airborne) {
	if oldest = r.flights.oldest(); oldest == nil {
		return 0, nil
	}
	return now - max(oldest.since(), time.Duration(r.heard.Load())), oldest
}

// rescue sends the calls of a replica that is silent to others too, as far as the
// budget goes, and leaves it when another has answered meanwhile.
func (f *Fleet) rescue(r *replica) {
	now := f.since()
	least := f.config.StallAfter
	silence, oldest := r.silent(now)
	if least == 0 || silence < least {
		return
	}
	t := oldest.at()
	limit := f.limit(t, least)
	if silence < limit {
		return
	}
	if !r.standing.Out() && f.othersAnswer(r, t, now-silence) {
		f.leave(r, t, leftSilent)
	}
	before := now - limit
	if r.standing.Out() {
		before = now // no answer is expected
	}
	for _, flight := range r.flights.before(before) {
		flight.hedge("silent")
	}
}

// limit is for how long a replica of a model may be silent.
func (f *Fleet) limit(t target, least time.Duration) time.Duration {
	slowest, known := f.quantile(t, .99)
	if !known {
		return max(least, unknownLimit)
	}
	return max(least, patience*slowest)
}

// quantile of the latency at the replica where it is longest.
func (f *Fleet) quantile(t target, q float64) (longest time.Duration, known bool) {
	now := time.Now()
	for _, r := range t.replicas {
		if w := r.word(t.key); w != nil {
			if d, of := w.latency.Quantile(now, q); of >= enough {
				longest, known = max(longest, d), true
			}
		}
	}
	return longest, known
}

// hedgeAfter is when a second call is made beside one that takes long; 0 is never.
func (f *Fleet) hedgeAfter(t target) time.Duration {
	if f.config.HedgePercentile == 0 {
		return 0
	}
	after, _ := f.quantile(t, f.config.HedgePercentile/100)
	return after
}

// othersAnswer tells whether another replica of a model, that gets calls, has
// answered one since a time.
func (f *Fleet) othersAnswer(r *replica, t target, since time.Duration) bool {
	for _, o := range t.replicas {
		if o != r && !o.standing.Out() && time.Duration(o.heard.Load()) > since {
			return true
		}
	}
	return false
}

// check looks, when it is time, whether a replica that is out is well.
func (f *Fleet) check(ctx context.Context, r *replica) {
	if !r.standing.Look(time.Now()) {
		return
	}
	f.rounds.Go(func() {
		ctx, cancel := context.WithTimeout(untraced(ctx), checkTimeout)
		defer cancel()
		resp, err := r.client.ServerLive(ctx, &inference.ServerLiveRequest{})
		r.standing.Found(time.Now(), err == nil && resp.GetLive())
	})
}
