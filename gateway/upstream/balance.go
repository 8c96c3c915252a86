package upstream

import (
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/connectivity"
)

// pick draws two of the replicas at random and takes the one with less to do. That
// keeps the longest queue nearly as short as asking all would, and gateways that
// don't know of each other do not all run to the same replica: M. Mitzenmacher, "The
// Power of Two Choices in Randomized Load Balancing", IEEE Transactions on Parallel
// and Distributed Systems 12(10), 2001. One that is out is not drawn, one that comes
// back less often unless no other is in, and one that is on trial gets the call that
// it waits for. The one that was tried before is left out; nil when there is no other.
func (f *Fleet) pick(t target, tried *replica) (r *replica, onTrial bool) {
	now := time.Now()
	var in, back draw // back are those that come back, and were passed over
	for _, r := range t.replicas {
		share, trial := r.standing.Share(now)
		switch {
		case r == tried:
		case trial:
			if r.standing.Try() {
				return r, true
			}
		case share >= 1, rand.Float64() < share:
			in.add(r)
		case share > 0:
			back.add(r)
		}
	}
	if in.n == 0 {
		in = back
	}
	switch in.n {
	case 0:
		return anyOf(t.replicas, tried), false
	case 1:
		return in.two[0], false
	}
	return f.better(t.key, in.two[0], in.two[1]), false
}

// draw is two at random of those that were added, once there are as many.
type draw struct {
	two [2]*replica
	n   int
}

func (d *draw) add(r *replica) {
	d.n++
	if d.n <= len(d.two) {
		d.two[d.n-1] = r
	} else if i := rand.IntN(d.n); i < len(d.two) {
		d.two[i] = r
	}
}

// anyOf is any of the replicas when none is in, or comes back: to be wrong about all of them is more
// likely than that nobody could answer.
func anyOf(replicas []*replica, tried *replica) *replica {
	if len(replicas) == 0 {
		return nil
	}
	from := rand.IntN(len(replicas))
	for i := range replicas {
		if r := replicas[(from+i)%len(replicas)]; r != tried {
			return r
		}
	}
	return nil
}

// better is the one with less to do for each of its slots. One whose connection
// fails has no calls running, and is no place for the next.
func (f *Fleet) better(k key, a, b *replica) *replica {
	if down := a.failing(); down != b.failing() {
		if down {
			return b
		}
		return a
	}
	now := f.since()
	loadA, slotsA := a.burden(k, now)
	loadB, slotsB := b.burden(k, now)
	if slotsA == 0 || slotsB == 0 { // one has not said how much it can take
		slotsA, slotsB = 1, 1
	}
	first, second := (loadA+1)/slotsA, (loadB+1)/slotsB
	if second < first || second == first && rand.IntN(2) == 0 {
		return b
	}
	return a
}

func (r *replica) failing() bool {
	switch r.conn.GetState() {
	case connectivity.TransientFailure, connectivity.Shutdown:
		return true
	default:
		return false
	}
}

// burden is how many calls a replica has to do: our own that run there, and, of what
// it said lately, what was not ours. That is how gateways see each other's calls.
func (r *replica) burden(k key, now time.Duration) (calls, slots float64) {
	calls = float64(r.calls.Load())
	w := r.word(k)
	if w == nil {
		return calls, 0
	}
	return calls + w.foreign(now), float64(w.slots.Load())
}
