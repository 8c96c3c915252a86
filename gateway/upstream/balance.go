package upstream

import (
	"math/rand/v2"
	"slices"

	"google.golang.org/grpc/connectivity"
)

// pick draws two of the replicas at random and takes the one with the fewer calls
// running. That keeps the longest queue nearly as short as asking all would, and
// gateways that don't know of each other do not all run to the same replica:
// M. Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", IEEE
// Transactions on Parallel and Distributed Systems 12(10), 2001. The one that was
// tried before is left out; nil when there is no other.
func pick(replicas []*replica, tried *replica) *replica {
	if tried != nil {
		replicas = slices.DeleteFunc(slices.Clone(replicas), func(r *replica) bool { return r == tried })
	}
	switch n := len(replicas); n {
	case 0:
		return nil
	case 1:
		return replicas[0]
	default:
		i, j := rand.IntN(n), rand.IntN(n-1)
		if j >= i {
			j++
		}
		return better(replicas[i], replicas[j])
	}
}

// better is b only when that is plainly better: one whose connection fails has no
// calls running, and is no place for the next.
func better(a, b *replica) *replica {
	switch down := a.failing(); {
	case down != b.failing():
		if down {
			return b
		}
	case b.calls.Load() < a.calls.Load():
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
