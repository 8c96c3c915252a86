package upstream

import (
	"maps"
	"sync/atomic"
	"time"

	"triptych/gateway/upstream/latency"
	"triptych/shared/capacity"
)

// believed is for how long what a replica said of its queue counts, less and less:
// queues change within a batch, and who is left alone says nothing new.
const believed = time.Second

// word is what is known of one of a replica's models from its answers. The numbers
// are read one by one, and may be those of two answers.
type word struct {
	slots, running, waiting atomic.Int64
	age, at                 atomic.Int64 // nanoseconds; at is since the fleet was made
	calls                   atomic.Int64 // our own that ran there when it was said
	latency                 latency.Window
}

// words are what is known of all its models: a map that is replaced when one comes,
// so that reading it takes no lock.
type words = map[key]*word

// word is what is known of a model; nil when it has not been called.
func (r *replica) word(k key) *word {
	if all := r.words.Load(); all != nil {
		return (*all)[k]
	}
	return nil
}

// wordFor is word for one that is about to be told something.
func (r *replica) wordFor(k key) *word {
	if w := r.word(k); w != nil {
		return w
	}
	return r.addWord(k)
}

// hear notes what an answer said while so many of our own calls ran there.
func (w *word) hear(said capacity.Report, calls int64, at time.Duration) {
	w.slots.Store(int64(said.Slots))
	w.running.Store(int64(said.Running))
	w.waiting.Store(int64(said.Waiting))
	w.age.Store(int64(said.Age))
	w.calls.Store(calls)
	w.at.Store(int64(at))
}

// mostWords bounds the models of which is known what a replica said: callers choose
// how they call a version. Beyond it all are forgotten, and said again soon.
const mostWords = 1 << 12

func (r *replica) addWord(k key) *word {
	r.wording.Lock()
	defer r.wording.Unlock()
	if w := r.word(k); w != nil {
		return w
	}
	fresh := words{}
	if old := r.words.Load(); old != nil && len(*old) < mostWords {
		fresh = maps.Clone(*old)
	}
	fresh[k] = &word{}
	r.words.Store(&fresh)
	return fresh[k]
}

// trust is how much of what was said is believed at a time.
func (w *word) trust(now time.Duration) float64 {
	return min(max(1-float64(now-time.Duration(w.at.Load()))/float64(believed), 0), 1)
}

// foreign is how many calls run or wait there that are not ours.
func (w *word) foreign(now time.Duration) float64 {
	others := w.waiting.Load() + w.running.Load() - w.calls.Load()
	if others <= 0 {
		return 0
	}
	return float64(others) * w.trust(now)
}

// report is what was said, as far as it is believed at a time: slots do not change,
// queues do.
func (w *word) report(now time.Duration) capacity.Report {
	trust := w.trust(now)
	part := func(n int64) float64 { return float64(n) * trust }
	return capacity.Report{
		Slots:   int(w.slots.Load()),
		Running: int(part(w.running.Load()) + .5),
		Waiting: int(part(w.waiting.Load()) + .5),
		Age:     time.Duration(part(w.age.Load())),
	}
}

// Capacity is what the replicas that have a version ready can take of it together,
// by what each said in its last answers. Those that get no calls now don't count. Not known when none has said anything, such
// as before the first answer, or when it is another's server.
func (f *Fleet) Capacity(model, version string) (sum capacity.Report, known bool) {
	t := f.Catalog().find(model, version)
	if !t.ready {
		return sum, false
	}
	now := f.since()
	for _, r := range t.replicas {
		if w := r.word(t.key); w != nil && w.slots.Load() > 0 && !r.standing.Out() {
			sum, known = sum.Plus(w.report(now)), true
		}
	}
	return sum, known
}

// since is the time that has passed since the fleet was made.
func (f *Fleet) since() time.Duration { return time.Since(f.began) }
