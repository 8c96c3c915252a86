package feed

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/gateway/jobs/board"
	pb "triptych/proto/jobs"
	"triptych/shared/pipeline"
	"triptych/shared/stream"
)

// attemptsOf leaves room for so many starts of an item by one leader. What another
// started before has smaller numbers, so that none is taken for a duplicate.
const attemptsOf = 12

// place is where a job is in its pipeline.
type place int

const (
	idle    place = iota // nothing of it is left to start
	waiting              // for its turn
	active               // being fed
)

// job is an open job.
type job struct {
	record *pb.Job
	plan   *pipeline.Plan
	road   *road
	level  *level
	place  place

	// inherited is set for one that another may have fed before: suspects is how many
	// of its items may be on their way without a trace of them here, and alive those
	// that were found.
	inherited bool
	suspects  int
	alive     map[uint32]bool

	admitted time.Time
	listed   bool             // todo was filled once
	todo     []uint32         // pages to be read, in order
	ranges   map[uint32]*page // pages that were read and not dropped
	hands    []*hand
	again    []*piece // given back: to be started first
	fed      int      // pages read since its turn began

	flights map[uint32]*flight
	lost    map[uint32]*flight // to be started again when their page is read

	loading, looking, ending, closing, searched bool
	quiet                                       time.Time // since when nothing of it moves
	retry                                       time.Time // before it nothing is read
	died                                        []uint32  // their letters are to be looked at
}

// hand is what is left to start of a page in hand.
type hand struct{ pieces []*piece }

// piece is an item in hand.
type piece struct {
	job    *job
	page   *page
	item   *pb.Item
	flight *flight
}

// flight is an item that was started, or is to be started again.
type flight struct {
	item    uint32
	page    *page
	attempt uint32
	fence   uint64
	begun   bool
	since   time.Time // when it was begun, or last seen
	tries   int
	ctx     context.Context
	span    trace.Span
}

// page is a page of which an item is undecided.
type page struct {
	number      uint32
	first, last uint32
	undecided   map[uint32]bool   // nil when none is left
	queued      map[uint32]bool   // in hand
	blobs       map[uint32]string // of items, by their keys
}

func (t *term) admit(record *pb.Job, inherited bool) *job {
	name := record.GetModel()
	p := t.roads[name]
	if p == nil {
		p = newRoad(name, t.cfg.Credit)
		t.roads[name] = p
	}
	j := &job{
		record: record, road: p, level: p.levels[stream.Level(uint64(record.GetPriority()))-1], inherited: inherited,
		ranges: map[uint32]*page{}, flights: map[uint32]*flight{}, lost: map[uint32]*flight{}, admitted: time.Now(), quiet: time.Now(),
	}
	if inherited {
		j.suspects = t.cfg.Credit
	}
	t.jobs[record.GetId()] = j
	p.jobs++
	p.enlist(j)
	return j
}

// drop forgets a job.
func (t *term) drop(j *job) {
	if j == nil {
		return
	}
	t.empty(j)
	for _, f := range j.flights {
		t.land(j, f)
		f.end(pb.Outcome_OUTCOME_UNSPECIFIED)
	}
	for _, f := range j.lost {
		f.end(pb.Outcome_OUTCOME_UNSPECIFIED)
	}
	j.road.forget(j)
	j.ending = true
	delete(t.jobs, j.record.GetId())
	if j.road.jobs--; j.road.jobs == 0 {
		delete(t.roads, j.road.name)
		t.metrics.flying.DeleteLabelValues(j.road.name)
	}
}

// empty gives back the pages in hand.
func (t *term) empty(j *job) {
	t.hands -= len(j.hands)
	j.level.hands -= len(j.hands)
	j.hands, j.again, j.todo = nil, nil, nil
}

// fly puts an item among those on their way.
func (t *term) fly(j *job, f *flight) {
	j.flights[f.item] = f
	j.road.flying++
	j.level.flying++
	t.metrics.flying.WithLabelValues(j.road.name).Inc()
}

// land takes an item from those on their way.
func (t *term) land(j *job, f *flight) {
	delete(j.flights, f.item)
	j.road.flying--
	j.level.flying--
	t.metrics.flying.WithLabelValues(j.road.name).Dec()
}

// decided takes a verdict.
func (t *term) decided(j *job, event board.Event) {
	p := j.pageOf(event.Item)
	if f := j.flights[event.Item]; f != nil {
		t.land(j, f)
		f.end(event.Outcome)
	}
	if f := j.lost[event.Item]; f != nil {
		delete(j.lost, event.Item)
		f.end(event.Outcome)
	}
	j.quiet, j.searched = time.Now(), false
	if event.Outcome == pb.Outcome_OUTCOME_DEAD {
		t.repairing(j, event.Item)
	}
	if p != nil && p.undecided[event.Item] {
		delete(p.undecided, event.Item)
		t.settle(j, p)
	}
	if len(j.flights) == 0 || j.ending {
		t.changed[j.record.GetId()] = true // it may have ended
	}
}

// requeue makes the page of an item be read again.
func (j *job) requeue(item uint32) {
	j.quiet = time.Now()
	if p := j.pageOf(item); p != nil {
		j.reread(p.number)
	}
}

// pageOf is the page of an item, if it was read and not dropped.
func (j *job) pageOf(item uint32) *page {
	if f := j.flights[item]; f != nil {
		return f.page
	}
	for _, p := range j.ranges {
		if item >= p.first && item <= p.last {
			return p
		}
	}
	return nil
}

// reread puts a page before those that were not read yet.
func (j *job) reread(number uint32) {
	if j.listed && !j.ending && !slices.Contains(j.todo, number) {
		j.todo = append([]uint32{number}, j.todo...)
	}
}

// still tells whether nothing of a job is left to do here, as far as it is known.
func (j *job) still() bool {
	return j.listed && j.place == idle && len(j.flights) == 0 && len(j.lost) == 0 && !j.loading && !j.ending && !j.closing
}
