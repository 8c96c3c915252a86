package board

import (
	"cmp"
	"slices"
	"time"

	pb "triptych/proto/jobs"
)

// Snapshot is a job at one moment. Record must not be changed.
type Snapshot struct {
	Record *pb.Job
	Counts *pb.Counts
	// Rate is verdicts a second, lately.
	Rate float64
	// Sequence is that of the last verdict that Counts has.
	Sequence uint64
}

// Decided is how many items have their verdict.
func (s *Snapshot) Decided() uint32 { return Decided(s.Counts) }

// Undecided is how many have none.
func (s *Snapshot) Undecided() uint32 { return s.Record.GetItems() - s.Decided() }

// End estimates when the job will have ended, from the rate; zero when nobody can
// say.
func (s *Snapshot) End(now time.Time) time.Time {
	if s.Rate <= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(float64(s.Undecided()) / s.Rate * float64(time.Second)))
}

// Decided is the sum of counts.
func Decided(c *pb.Counts) uint32 {
	return c.GetSucceeded() + c.GetFailed() + c.GetDead() + c.GetCancelled() + c.GetExpired()
}

// Open tells whether a job has not ended.
func Open(job *pb.Job) bool { return open(job) }

// Each calls visit with every job, the newest first, until it returns false. Jobs
// that it does not come to cost next to nothing.
func (b *Board) Each(visit func(*Snapshot) bool) {
	for _, job := range b.newest() {
		if s := b.look(job.GetId()); s != nil && !visit(s) {
			return
		}
	}
}

// newest are the records of all jobs, the newest first.
func (b *Board) newest() []*pb.Job {
	b.mu.Lock()
	list := make([]*pb.Job, 0, len(b.entries))
	for _, e := range b.entries {
		if e.record != nil {
			list = append(list, e.record)
		}
	}
	b.mu.Unlock()
	slices.SortFunc(list, func(a, b *pb.Job) int {
		return cmp.Or(cmp.Compare(b.GetCreatedMs(), a.GetCreatedMs()), cmp.Compare(b.GetId(), a.GetId()))
	})
	return list
}

func (b *Board) look(id string) *Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[id]
	if e == nil || e.record == nil {
		return nil
	}
	return e.snapshot()
}

// Totals is all jobs together.
type Totals struct {
	// Jobs are counted by state.
	Jobs map[pb.State]int
	// Undecided are the items of open jobs that have no verdict, and UndecidedBytes
	// about how large their inputs are.
	Undecided      uint64
	UndecidedBytes float64
	// Dead are the items, of open and ended jobs, that were given up.
	Dead uint64
	// Rate is verdicts a second, lately, and BytesRate the bytes of the inputs that
	// got them.
	Rate, BytesRate float64
}

// Totals sums all jobs up.
func (b *Board) Totals() Totals {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	t := Totals{Jobs: map[pb.State]int{}, Rate: b.rate.rate(now), BytesRate: b.bytes.rate(now)}
	for _, e := range b.entries {
		if e.record == nil {
			continue
		}
		t.Jobs[e.record.GetState()]++
		t.Dead += uint64(e.counts.GetDead())
		if open(e.record) {
			left := e.record.GetItems() - Decided(e.counts)
			t.Undecided += uint64(left)
			t.UndecidedBytes += float64(left) * itemBytes(e.record)
		}
	}
	return t
}

// itemBytes is how large an item of a job is, on average.
func itemBytes(job *pb.Job) float64 { return float64(job.GetBytes()) / float64(max(job.GetItems(), 1)) }
