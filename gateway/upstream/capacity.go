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
	slots   atomic.Int64
	others  atomic.Int64 // calls that were not ours and ran or waited there when it was said
	age     atomic.Int64 // how long its queue was then, in nanoseconds of waiting
	at      atomic.Int64 // when it was said, in nanoseconds since the fleet was made
	latency latency.Window
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
	w.others.Store(max(int64(said.Waiting+said.Running)-calls, 0))
	w.age.Store(int64(said.Age))
	w.at.Store(int64(at))
}

// queue is how long requests have waited there lately, as far as what was said is
// believed at a time.
func (w *word) queue(now time.Duration) time.Duration {
	return time.Duration(float64(w.age.Load()) * w.faith(now))
}

// faith is how much of what was said is believed at a time.
func (w *word) faith(now time.Duration) float64 {
	since := now - time.Duration(w.at.Load())
	return min(max(1-float64(since)/float64(believed), 0), 1)
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

// foreign is how many calls run or wait there that are not ours, as far as what was
// said is believed at a time.
func (w *word) foreign(now time.Duration) float64 {
	return float64(w.others.Load()) * w.faith(now)
}

// since is the time that has passed since the fleet was made.
func (f *Fleet) since() time.Duration { return time.Since(f.began) }
