package board

import (
	"time"

	pb "triptych/proto/jobs"
)

// maxEarly bounds the verdicts that are kept of a job whose record has not come
// yet: the two travel apart. When there are more, they are read again.
const maxEarly = 1024

// entry is one job.
type entry struct {
	since    time.Time // when it was made
	record   *pb.Job
	revision uint64
	counts   *pb.Counts
	// decided has a bit for each item that has a verdict, dead for those that are
	// dead, unsure for those that may be, for they were decided before the job was
	// opened again, and marked for those that were put back since; nil for a job that
	// has ended.
	decided, dead, unsure, marked bits
	// sequence is that of the last verdict in counts.
	sequence uint64
	pace     pace
	early    []Event // that came before the record
	missed   bool    // there were more of them than are kept
	watchers map[chan struct{}]bool
}

func (e *entry) snapshot() *Snapshot {
	return &Snapshot{Record: e.record, Counts: cloneCounts(e.counts), Rate: e.pace.rate(time.Now()), Sequence: e.sequence}
}

func cloneCounts(c *pb.Counts) *pb.Counts {
	return &pb.Counts{Succeeded: c.GetSucceeded(), Failed: c.GetFailed(), Dead: c.GetDead(), Cancelled: c.GetCancelled(), Expired: c.GetExpired()}
}

func open(job *pb.Job) bool {
	return job.GetState() == pb.State_STATE_ACCEPTED || job.GetState() == pb.State_STATE_CANCELLING
}

// take takes over a record that was written, and gives the events that came before
// it and count now.
func (e *entry) take(job *pb.Job, revision uint64) []Event {
	before := e.record
	e.record, e.revision = job, revision
	switch {
	case !open(job):
		// What came after the counts of the record were taken must not be forgotten: an
		// item was put back in that moment.
		e.missed = e.missed || e.sequence > job.GetVerdictsAfter()
		e.counts, e.decided, e.dead, e.unsure, e.marked = cloneCounts(job.GetCounts()), nil, nil, nil, nil
		e.sequence = max(e.sequence, job.GetVerdictsAfter())
	case before == nil || !open(before):
		e.begin()
	}
	early := e.early
	e.early = nil
	var counted []Event
	for _, event := range early {
		if e.apply(event, time.Now()) {
			counted = append(counted, event)
		}
	}
	e.tell()
	return counted
}

// begin starts to count a job that is open: from what its record has.
func (e *entry) begin() {
	job := e.record
	e.counts = cloneCounts(job.GetCounts())
	e.sequence = job.GetVerdictsAfter()
	e.decided, e.dead, e.unsure, e.marked = newBits(job.GetItems()), nil, nil, nil
	if !job.GetReopened() {
		return
	}
	e.decided.fill()
	if e.counts.GetDead() > 0 {
		e.unsure = newBits(job.GetItems()) // nobody knows which
		e.unsure.fill()
	}
}

func (e *entry) has(item uint32) bool {
	if e.record != nil && !open(e.record) {
		return true
	}
	return e.decided.has(item)
}

// apply counts an event and tells whether it was news.
func (e *entry) apply(event Event, now time.Time) bool {
	switch {
	case e.record == nil:
		e.keep(event)
		return false
	case !open(e.record) && event.Outcome == pb.Outcome_OUTCOME_PURGED:
		return false // nothing follows from it
	case !open(e.record):
		// What comes after the end follows from an item that was put back: the record
		// that says so is on its way.
		news := event.Sequence > e.record.GetVerdictsAfter()
		if news {
			e.keep(event)
			e.sequence = max(e.sequence, event.Sequence)
		}
		return news
	case event.Sequence <= e.sequence || event.Item >= e.record.GetItems():
		return false
	}
	e.sequence = event.Sequence
	e.count(event, now)
	e.tell()
	return true
}

// count counts an event. The last message of an item is the only one that is kept,
// so the one before may never have been seen; what is replaced was always dead.
func (e *entry) count(event Event, now time.Time) {
	item := event.Item
	if e.decided.has(item) {
		e.counts.Dead -= min(e.counts.Dead, 1)
	}
	e.decided.clear(item)
	e.dead.clear(item)
	e.unsure.clear(item)
	e.marked.clear(item)
	if event.Outcome == pb.Outcome_OUTCOME_REQUEUED {
		e.marked = e.mark(e.marked, item)
		return
	}
	if event.Outcome == pb.Outcome_OUTCOME_DEAD {
		e.dead = e.mark(e.dead, item)
	}
	e.decided.set(item)
	tally(e.counts, event.Outcome)
	e.pace.add(now, 1)
}

func (e *entry) mark(b bits, item uint32) bits {
	if b == nil {
		b = newBits(e.record.GetItems())
	}
	b.set(item)
	return b
}

func (e *entry) keep(event Event) {
	if len(e.early) < maxEarly {
		e.early = append(e.early, event)
		return
	}
	e.missed = true
}

func tally(c *pb.Counts, outcome pb.Outcome) {
	switch outcome {
	case pb.Outcome_OUTCOME_SUCCEEDED:
		c.Succeeded++
	case pb.Outcome_OUTCOME_DEAD, pb.Outcome_OUTCOME_PURGED:
		c.Dead++
	case pb.Outcome_OUTCOME_CANCELLED:
		c.Cancelled++
	case pb.Outcome_OUTCOME_EXPIRED:
		c.Expired++
	default: // an outcome of a later version is at least an end
		c.Failed++
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
