// Package latency remembers how long calls took lately, in little memory, for
// decisions that need a quantile and not its last digit: what it tells is up to a
// quarter too long.
package latency

import (
	"math/bits"
	"sync"
	"time"
)

const (
	parts = 4 // of a power of two
	count = 40 * parts
)

// half is for how long one of the two sets of numbers is added to. Both together are
// what is remembered.
const half = 15 * time.Second

// Window remembers durations for 15 to 30 seconds. Its zero value is ready. Safe for
// concurrent use.
type Window struct {
	mu     sync.Mutex
	began  time.Time
	new    [count]uint32
	old    [count]uint32
	newSum int
	oldSum int
}

// Add remembers a duration.
func (w *Window) Add(now time.Time, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn(now)
	w.new[bucket(took)]++
	w.newSum++
}

// turn forgets what is too old.
func (w *Window) turn(now time.Time) {
	since := now.Sub(w.began)
	if since < half {
		return
	}
	w.old, w.oldSum = w.new, w.newSum
	if since >= 2*half {
		w.old, w.oldSum = [count]uint32{}, 0
	}
	w.new, w.newSum, w.began = [count]uint32{}, 0, now
}

// Quantile is what a part of the durations, such as 0.99, was below, and of how many
// durations that was found.
func (w *Window) Quantile(now time.Time, q float64) (below time.Duration, of int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn(now)
	of = w.newSum + w.oldSum
	beyond := of - int(q*float64(of))
	for i := count - 1; i >= 0; i-- {
		if beyond -= int(w.new[i] + w.old[i]); beyond < 0 || beyond == 0 && w.new[i]+w.old[i] > 0 {
			return end(i), of
		}
	}
	return 0, of
}

// bucket is by the power of two of the microseconds, and by the two bits below it.
func bucket(took time.Duration) int {
	us := uint64(max(took.Microseconds(), parts))
	power := bits.Len64(us) - 1
	return min((power-2)*parts+int(us>>(power-2))%parts, count-1)
}

// end is the duration at which a bucket ends.
func end(bucket int) time.Duration {
	power, part := bucket/parts+2, bucket%parts
	return time.Duration(parts+part+1) << (power - 2) * time.Microsecond
}
