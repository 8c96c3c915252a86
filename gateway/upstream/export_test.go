package upstream

import (
	"time"

	"google.golang.org/grpc/connectivity"
)

// Connected is how many connections are up, those to replicas that leave too.
func (f *Fleet) Connected() int {
	n := 0
	for _, p := range f.pools {
		p.mu.Lock()
		for _, r := range p.replicas {
			n += r.up()
		}
		for _, r := range p.leaving {
			n += r.up()
		}
		p.mu.Unlock()
	}
	return n
}

func (r *replica) up() int {
	if r.conn.GetState() == connectivity.Ready {
		return 1
	}
	return 0
}

// Turned makes the last round have ended at a time.
func (f *Fleet) Turned(at time.Time) { f.turned.Store(&at) }
