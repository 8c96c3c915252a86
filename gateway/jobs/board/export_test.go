package board

import (
	"time"

	pb "triptych/proto/jobs"
)

// MaxEarly is how many verdicts are kept of a job that is not known yet.
const MaxEarly = maxEarly

// Write takes over a record as if it had been read.
func (b *Board) Write(job *pb.Job, revision uint64) { b.tell(b.write(job.GetId(), job, revision)...) }

// Begin makes the board ready without reading anything.
func (b *Board) Begin() { b.begun, b.caught = true, true }

// Known is how many jobs the board keeps anything of.
func (b *Board) Known() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

// Pace is a pace, to which n are added at a time after its beginning, and its rate
// then.
type Pace struct{ pace pace }

// Add adds n at a time.
func (p *Pace) Add(at time.Time, n float64) { p.pace.add(at, n) }

// Rate is the rate at a time.
func (p *Pace) Rate(at time.Time) float64 { return p.pace.rate(at) }
