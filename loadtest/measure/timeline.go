package measure

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// firstInterval is how finely a timeline begins.
	firstInterval = time.Second
	// maxIntervals bounds a timeline. 240 are more than a chart can show apart,
	// and with 27 kB each they take at most 6.5 MB.
	maxIntervals = 240
	// intervalDigits are the significant digits of an interval's latencies.
	intervalDigits = 2
)

// Timeline counts requests by intervals of equal length. Its memory is bounded
// however long a test is: when there are too many intervals, each two
// neighbours become one, which takes about a millisecond. Safe for concurrent
// use by several recorders. One that is nil counts nothing.
type Timeline struct {
	mu    sync.Mutex
	began time.Time
	width time.Duration
	last  time.Duration // since began, when something happened
	slots []slot        // the i-th begins at i times width
}

// slot is one interval while it is being counted.
type slot struct {
	sent, answered int64
	faults         map[string]int64        // nil without errors
	latency        *hdrhistogram.Histogram // nil without answers
	longest        time.Duration
}

// NewTimeline starts the clock. Intervals are a second each until there are
// more than 240, then two, four and so on.
func NewTimeline() *Timeline {
	return &Timeline{began: time.Now(), width: firstInterval}
}

// Interval is what happened in a part of a test. A request counts as sent where
// it was sent, and as answered or failed where that was known.
type Interval struct {
	// Start is since the timeline began. The last interval ends when something
	// happened last, so that its Width may be less than the others'.
	Start, Width time.Duration
	// Sent are requests that left; those of kind Overrun never did.
	Sent, Answered int64
	// Errors are by kind, sorted by their names.
	Errors []KindCount
	// P50, P90, P99 and Max are the latencies of good answers, to two significant
	// digits but for Max, which is exact. 0 when there were none.
	P50, P90, P99, Max time.Duration
}

// KindCount is how often a kind of error came.
type KindCount struct {
	Kind  string
	Count int64
}

// Failed is the errors of all kinds.
func (i Interval) Failed() int64 {
	var n int64
	for _, e := range i.Errors {
		n += e.Count
	}
	return n
}

// Offered is the requests that were due: sent, or not sent because too many
// were in flight.
func (i Interval) Offered() int64 {
	n := i.Sent
	for _, e := range i.Errors {
		if e.Kind == Overrun {
			n += e.Count
		}
	}
	return n
}

// Intervals are all until the last event, without gaps, the first first.
func (t *Timeline) Intervals() []Interval {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	intervals := make([]Interval, 0, len(t.slots))
	for i := range t.slots {
		start := time.Duration(i) * t.width
		intervals = append(intervals, t.slots[i].interval(start, min(t.width, t.last-start)))
	}
	return intervals
}

func (s *slot) interval(start, width time.Duration) Interval {
	i := Interval{Start: start, Width: width, Sent: s.sent, Answered: s.answered, Max: s.longest}
	for kind, n := range s.faults {
		i.Errors = append(i.Errors, KindCount{kind, n})
	}
	slices.SortFunc(i.Errors, func(a, b KindCount) int { return cmp.Compare(a.Kind, b.Kind) })
	if s.latency != nil {
		at := func(percent float64) time.Duration {
			return min(time.Duration(s.latency.ValueAtPercentile(percent))*unit, s.longest)
		}
		i.P50, i.P90, i.P99 = at(50), at(90), at(99)
	}
	return i
}

func (t *Timeline) started() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now().sent++
}

func (t *Timeline) answered(latency time.Duration) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.now()
	s.answered++
	s.longest = max(s.longest, latency)
	if s.latency == nil {
		s.latency = hdrhistogram.New(1, longest, intervalDigits)
	}
	_ = s.latency.RecordValue(trackable(latency)) // within the bounds it can't fail
}

func (t *Timeline) failed(kind string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.now()
	if s.faults == nil {
		s.faults = map[string]int64{}
	}
	tally(s.faults, kind, 1)
}

// tally counts a kind of error, as long as there is room for it.
func tally(faults map[string]int64, kind string, n int64) {
	if _, known := faults[kind]; !known && len(faults) >= maxKinds {
		kind = unlistedAs
	}
	faults[kind] += n
}

// now is the slot of this moment.
func (t *Timeline) now() *slot {
	t.last = time.Since(t.began)
	for time.Duration(len(t.slots))*t.width <= t.last {
		if len(t.slots) == maxIntervals {
			t.halve()
			continue
		}
		t.slots = append(t.slots, slot{})
	}
	return &t.slots[len(t.slots)-1]
}

// halve makes one slot of each two.
func (t *Timeline) halve() {
	for i := range len(t.slots) / 2 {
		t.slots[i] = t.slots[2*i].with(t.slots[2*i+1])
	}
	clear(t.slots[len(t.slots)/2:])
	t.slots = t.slots[:len(t.slots)/2]
	t.width *= 2
}

// with is s and its neighbour. It takes over what they hold.
func (s slot) with(o slot) slot {
	s.sent += o.sent
	s.answered += o.answered
	s.longest = max(s.longest, o.longest)
	switch {
	case s.faults == nil:
		s.faults = o.faults
	case o.faults != nil:
		for _, kind := range slices.Sorted(maps.Keys(o.faults)) {
			tally(s.faults, kind, o.faults[kind])
		}
	}
	switch {
	case s.latency == nil:
		s.latency = o.latency
	case o.latency != nil:
		s.latency.Merge(o.latency)
	}
	return s
}
