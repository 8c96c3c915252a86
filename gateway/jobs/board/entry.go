package board

import (
	"time"

	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
)

// maxEarly bounds the verdicts that are kept of a job whose record has not come
// yet: the two travel apart.
const maxEarly = 1024

// entry is one job.
type entry struct {
	record *pb.Job
	counts *pb.Counts
	// decided has a bit for each item of a job that is open; nil for one that has
	// ended.
	decided  []uint64
	sequence uint64
	pace     pace
	early    []Event // that came before the record
	watchers map[chan struct{}]bool
}

func (e *entry) snapshot() *Snapshot {
	return &Snapshot{Record: e.record, Counts: cloneCounts(e.counts), Rate: e.pace.rate(time.Now()), Sequence: e.sequence}
}

func cloneCounts(c *pb.Counts) *pb.Counts {
	clone, _ := proto.Clone(c).(*pb.Counts)
	if clone == nil {
		return &pb.Counts{}
	}
	return clone
}

func open(job *pb.Job) bool {
	return job.GetState() == pb.State_STATE_ACCEPTED || job.GetState() == pb.State_STATE_CANCELLING
}

// take takes over a record that was written.
func (e *entry) take(job *pb.Job) {
	before := e.record
	e.record = job
	switch {
	case !open(job):
		e.counts, e.decided = cloneCounts(job.GetCounts()), nil
	case before == nil || !open(before):
		e.begin(job)
	}
	early := e.early
	e.early = nil
	for _, event := range early {
		e.apply(event, time.Now())
	}
	e.tell()
}

// begin starts to count a job that is open: from what its record has.
func (e *entry) begin(job *pb.Job) {
	e.counts = cloneCounts(job.GetCounts())
	e.decided = make([]uint64, (job.GetItems()+63)/64)
	e.sequence = job.GetVerdictsAfter()
	if job.GetReopened() {
		for i := range e.decided {
			e.decided[i] = ^uint64(0)
		}
	}
}

func (e *entry) has(item uint32) bool {
	if e.record != nil && !open(e.record) {
		return true
	}
	return int(item/64) < len(e.decided) && e.decided[item/64]&(1<<(item%64)) != 0
}

// apply counts an event. One that was counted before is passed over.
func (e *entry) apply(event Event, now time.Time) {
	if e.record == nil {
		if len(e.early) < maxEarly {
			e.early = append(e.early, event)
		}
		return
	}
	if !open(e.record) || event.Sequence <= e.sequence || int(event.Item/64) >= len(e.decided) {
		return
	}
	e.sequence = event.Sequence
	bit := uint64(1) << (event.Item % 64)
	if event.Outcome == pb.Outcome_OUTCOME_REQUEUED {
		e.decided[event.Item/64] &^= bit
		e.counts.Dead--
	} else {
		e.decided[event.Item/64] |= bit
		count(e.counts, event.Outcome)
		e.pace.add(now)
	}
	e.tell()
}

func count(c *pb.Counts, outcome pb.Outcome) {
	switch outcome {
	case pb.Outcome_OUTCOME_SUCCEEDED:
		c.Succeeded++
	case pb.Outcome_OUTCOME_FAILED:
		c.Failed++
	case pb.Outcome_OUTCOME_DEAD:
		c.Dead++
	case pb.Outcome_OUTCOME_CANCELLED:
		c.Cancelled++
	case pb.Outcome_OUTCOME_EXPIRED:
		c.Expired++
	}
}

func (e *entry) tell() {
	for told := range e.watchers {
		select {
		case told <- struct{}{}:
		default:
		}
	}
}
