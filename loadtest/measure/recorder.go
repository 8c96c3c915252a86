// Package measure counts requests and keeps their latencies. Its memory does
// not grow with the number of requests: latencies go into an HDR histogram with
// three significant digits.
package measure

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies are kept in microseconds, from 1 to an hour.
const (
	unit       = time.Microsecond
	longest    = int64(time.Hour / unit)
	digits     = 3
	maxKinds   = 50 // of errors: a server chooses their names
	unlistedAs = Other
)

// Answer is what a target got.
type Answer struct {
	// Labels are the answer's, the best first.
	Labels []string
	// Sent and Received are the bytes of the bodies.
	Sent, Received int
	// Items is how many images the answer is about: those of a job. 0 is 1.
	Items int
}

// Recorder collects what happens to the requests of one run. Safe for
// concurrent use.
type Recorder struct {
	mu        sync.Mutex
	began     time.Time
	inFlight  int64
	answered  int64
	items     int64
	abandoned int64
	sent      int64
	received  int64
	latency   distribution
	lateness  distribution
	faults    map[string]*fault
	timeline  *Timeline
}

// FaultCount is how often a kind of error came, with the words of the first and
// how long after they were due the requests learned it.
type FaultCount struct {
	Kind    string
	Count   int64
	Example string
	Latency Spread
}

// fault is a kind of error while it is being counted.
type fault struct {
	FaultCount
	latency distribution
}

// NewRecorder starts the clock, with a timeline of its own.
func NewRecorder() *Recorder { return NewRecorderOn(NewTimeline()) }

// NewRecorderOn starts the clock of a recorder that also counts on a timeline
// which others use too, such as that of a test in several stages; nil for none.
func NewRecorderOn(timeline *Timeline) *Recorder {
	return &Recorder{
		timeline: timeline,
		began:    time.Now(),
		latency:  newDistribution(),
		lateness: newDistribution(),
		faults:   map[string]*fault{},
	}
}

// Started counts a request that is being sent. Answered, Failed or Abandoned
// ends it.
func (r *Recorder) Started() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight++
	r.timeline.started()
}

// Answered counts a good answer, with its latency and how late the request was
// sent.
func (r *Recorder) Answered(a Answer, latency, late time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
	r.answered++
	r.items += int64(max(a.Items, 1))
	r.sent += int64(a.Sent)
	r.received += int64(a.Received)
	r.latency.add(latency)
	r.lateness.add(late)
	r.timeline.answered(latency)
}

// Failed counts an error that was known after so long. Its latency is kept apart:
// a refusal is quick, and would make the answers look fast.
func (r *Recorder) Failed(f Fault, latency time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Kind != Overrun { // which never started
		r.inFlight--
	}
	count, known := r.faults[f.Kind]
	if !known && len(r.faults) >= maxKinds {
		f.Kind = unlistedAs
		count, known = r.faults[f.Kind]
	}
	if !known {
		count = &fault{FaultCount{Kind: printable(f.Kind), Example: printable(f.Message)}, newDistribution()}
		r.faults[f.Kind] = count
	}
	count.Count++
	r.timeline.failed(count.Kind)
	if f.Kind != Overrun {
		count.latency.add(latency)
	}
}

// Abandoned counts a request that was broken off because the test was ended
// early. It is no error.
func (r *Recorder) Abandoned() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
	r.abandoned++
}

// distribution is a histogram with exact ends.
type distribution struct {
	histogram *hdrhistogram.Histogram
	least     time.Duration
	most      time.Duration
	sum       time.Duration
}

func newDistribution() distribution {
	return distribution{histogram: hdrhistogram.New(1, longest, digits)}
}

func (d *distribution) add(v time.Duration) {
	v = max(v, 0)
	if d.histogram.TotalCount() == 0 || v < d.least {
		d.least = v
	}
	d.most = max(d.most, v)
	d.sum += v
	// A value within the bounds can't fail.
	_ = d.histogram.RecordValue(trackable(v))
}

// trackable is a latency as a histogram takes it.
func trackable(v time.Duration) int64 { return min(max(int64(v/unit), 1), longest) }
