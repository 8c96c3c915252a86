package upstream

import (
	"maps"
	"sync/atomic"
	"time"

	"triptych/shared/capacity"
)

// believed is for how long what a replica said of its queue counts, less and less:
// queues change within a batch, and who is left alone says nothing new.
const believed = time.Second

// word is what a replica said last of one of its models. Its numbers are read one by
// one, and may be those of two answers.
type word struct {
	slots, running, waiting atomic.Int64
	age, at                 atomic.Int64 // nanoseconds; at is since the fleet was made
	calls                   atomic.Int64 // our own that ran there when it was said
}

// words are what a replica said of all its models: a map that is replaced when one
// comes, so that reading it takes no lock.
type words = map[key]*word

// word is what the replica said of a model; nil when it has said nothing.
func (r *replica) word(k key) *word {
	if all := r.words.Load(); all != nil {
		return (*all)[k]
	}
	return nil
}

// hear notes what an answer said.
func (r *replica) hear(k key, said capacity.Report, at time.Duration) {
	w := r.word(k)
	if w == nil {
		w = r.addWord(k)
	}
	w.slots.Store(int64(said.Slots))
	w.running.Store(int64(said.Running))
	w.waiting.Store(int64(said.Waiting))
	w.age.Store(int64(said.Age))
	w.calls.Store(r.calls.Load())
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

// report is what was said, as far as it is believed at a time: slots do not change,
// queues do.
func (w *word) report(now time.Duration) capacity.Report {
	trust := 1 - float64(now-time.Duration(w.at.Load()))/float64(believed)
	trust = min(max(trust, 0), 1)
	part := func(n int64) float64 { return float64(n) * trust }
	return capacity.Report{
		Slots:   int(w.slots.Load()),
		Running: int(part(w.running.Load()) + .5),
		Waiting: int(part(w.waiting.Load()) + .5),
		Age:     time.Duration(part(w.age.Load())),
	}
}

// Capacity is what the replicas that have a version ready can take of it together,
// by what each said in its last answers. Not known when none has said anything, such
// as before the first answer, or when it is another's server.
func (f *Fleet) Capacity(model, version string) (sum capacity.Report, known bool) {
	t := f.Catalog().find(model, version)
	if !t.ready {
		return sum, false
	}
	now := f.since()
	for _, r := range t.replicas {
		if w := r.word(t.key); w != nil {
			sum, known = sum.Plus(w.report(now)), true
		}
	}
	return sum, known
}

// since is the time that has passed since the fleet was made.
func (f *Fleet) since() time.Duration { return time.Since(f.began) }
