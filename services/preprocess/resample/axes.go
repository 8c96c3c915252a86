package resample

import "sync"

// Axes remembers the latest axes, since pictures of one size come one after
// another, and weights cost a tenth of what is done with them (half for Lanczos).
// The zero Axes is ready; it is safe for concurrent use.
type Axes struct {
	mu    sync.Mutex
	made  map[Side]*Axis
	order []Side // the oldest first
	held  int
}

// Axes hold at most so many numbers of 4 bytes. What else an axis and its place
// take counts as some more.
const (
	mostHeld = 1 << 18
	overhead = 64
)

// Axis is NewAxis, but remembers.
func (c *Axes) Axis(s Side) (*Axis, error) {
	if a := c.find(s); a != nil {
		return a, nil
	}
	a, err := NewAxis(s)
	if err == nil && a.held() <= mostHeld {
		c.keep(s, a)
	}
	return a, err
}

func (c *Axes) find(s Side) *Axis {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made[s]
}

// keep forgets the oldest ones until there is room.
func (c *Axes) keep(s Side, a *Axis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made[s] != nil {
		return
	}
	if c.made == nil {
		c.made = make(map[Side]*Axis)
	}
	for c.held+a.held() > mostHeld {
		oldest := c.order[0]
		c.held -= c.made[oldest].held()
		delete(c.made, oldest)
		c.order = c.order[1:]
	}
	c.made[s] = a
	c.order = append(c.order, s)
	c.held += a.held()
}

// held is how much of Axes' room the axis takes.
func (a *Axis) held() int { return overhead + len(a.first) + len(a.count) + len(a.weights) }
