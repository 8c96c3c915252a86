package engine

import "sync"

// traffic is how many runs the CPU has, of all models of the library together,
// and how often they met lately.
type traffic struct {
	mu      sync.Mutex
	running int
	met     bool    // since the CPU was idle there were two runs at once
	crowd   float64 // share of the last runs that met another
}

const (
	// crowdWeight is that of the newest run: a dozen that were alone make up for
	// a crowd.
	crowdWeight = 1. / 8
	// calm is the crowd below which a run may count on being alone.
	calm = 0.25
)

// begin counts a run and tells whether it may count on being alone: nothing else
// runs, and that is how it has mostly been. end must follow.
func (t *traffic) begin() (alone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running++
	t.met = t.running > 1
	return !t.met && t.crowd < calm
}

// end tells whether the run was alone from begin to end.
func (t *traffic) end() (alone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	met := 0.
	if t.met {
		met = 1
	}
	t.crowd += crowdWeight * (met - t.crowd)
	return !t.met
}
