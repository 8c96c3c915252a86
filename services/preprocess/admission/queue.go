package admission

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/shared/failure"
)

// Config bounds what is worked on and what waits.
type Config struct {
	// Slots is how many images are worked on at once.
	Slots int
	// Budget is how many bytes those may hold together.
	Budget int64
	// Large is the cost from which an image goes to the lane of large ones.
	Large int64
	// Requests is how many requests may wait for their first image to be let in.
	Requests int
	// Bytes is how many bytes of files requests may hold, waiting or worked on. A
	// request that is alone may hold more.
	Bytes int64
}

// Queue lets images in. Safe for concurrent use.
type Queue struct {
	cfg Config

	mu           sync.Mutex
	small, large lane
	virtual      int64     // the start tag of who was let in last
	slots        int       // in use
	bytes        int64     // in use
	began        time.Time // when an image was last let in
	last         *lane     // where that came from
	pace         float64
	held         held
}

// New makes a queue whose metrics are registered in registry.
func New(cfg Config, registry prometheus.Registerer) (*Queue, error) {
	q := &Queue{cfg: cfg, small: lane{name: "small"}, large: lane{name: "large"}}
	return q, q.register(registry)
}

// leastCost is what an image costs beside its memory.
const leastCost = 64 << 10

// Grant is the leave to work on one image. Release gives it back.
type Grant struct {
	// Waited is how long the image waited. It is told beside an error too.
	Waited time.Duration

	queue *Queue
	lane  *lane
	cost  int64
	begun time.Time
}

// Admit waits until there is room for work that holds cost bytes. A caller that
// has gone is not let in, and leaves the line at once.
func (q *Queue) Admit(ctx context.Context, cost int64) (Grant, error) {
	if err := failure.OfContext(ctx); err != nil {
		return Grant{}, err
	}
	came := time.Now()
	cost = max(cost, leastCost)
	l, t := q.line(cost, came)
	if t == nil {
		l.seconds.Observe(0)
		return Grant{queue: q, lane: l, cost: cost, begun: came}, nil
	}
	select {
	case <-t.turn:
	case <-ctx.Done():
	}
	waited := time.Since(came)
	if err := failure.OfContext(ctx); err != nil {
		q.leave(t)
		return Grant{Waited: waited}, err
	}
	l.seconds.Observe(waited.Seconds())
	return Grant{Waited: waited, queue: q, lane: l, cost: cost, begun: came.Add(waited)}, nil
}

// line puts an image at the end of its lane. There is no ticket when it is let in at
// once.
func (q *Queue) line(cost int64, came time.Time) (*lane, *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := &q.small
	if cost >= q.cfg.Large {
		l = &q.large
	}
	t := &ticket{cost: cost, lane: l, virtual: q.virtual, came: came}
	l.push(t)
	q.dispatch()
	if t.in {
		return l, nil
	}
	t.turn = make(chan struct{})
	return l, t
}

// leave takes an image out of line whose caller has gone. It may just have been
// let in.
func (q *Queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.lane.left.Inc()
	if t.in {
		q.give(t.lane, t.cost)
	} else {
		t.lane.remove(t)
	}
	q.dispatch()
}

// Release ends the work on an image.
func (g Grant) Release() {
	took := time.Since(g.begun)
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	g.queue.learn(took, g.cost)
	g.queue.give(g.lane, g.cost)
	g.queue.dispatch()
}
