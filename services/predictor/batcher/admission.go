package batcher

import (
	"slices"
	"time"

	"triptych/shared/failure"
)

// inTime is how long before a deadline a batch of a cost must start: its cost,
// and a little, for a cost is an average and an answer has a way to go.
func inTime(c time.Duration) time.Duration { return c + c/8 + time.Millisecond }

// slack is the part of a forecast wait by which it may become longer: one batch
// that is held up for a few milliseconds delays all that wait behind it, and who
// was let in too tightly learns it only when his turn has come.
const slack = 1. / 4

// admit refuses a request that can't be answered within its deadline by what is
// known of the cost of batches: the caller learns at once what it would learn
// later, and nobody else's time is spent on it.
func (b *Batcher) admit(it *item, l *lane) error {
	if it.deadline.IsZero() || it.bulk || b.cfg.Policy == Triton || len(l.cost.points) == 0 {
		return nil
	}
	wait, own := b.ahead(it, l)
	left := it.deadline.Sub(it.enqueued)
	need := wait + time.Duration(slack*float64(wait)) + inTime(own)
	if need <= left {
		return nil
	}
	if b.doubtful(it.enqueued) {
		it.trial = true
		return nil
	}
	late := failure.New(failure.Deadline, "the request can't be answered within its deadline: model %q would need %s, %s are left", b.cfg.Model, need.Round(time.Millisecond), left.Round(time.Millisecond))
	if inTime(own) <= left { // else it never could
		late.RetryAfter = need - left
	}
	return late
}

// doubtAfter is how long what is known of the cost is taken for true while nothing
// runs.
const doubtAfter = time.Second

// doubtful tells whether nothing has run for so long that a request is let in
// whatever its deadline: were all refused by a cost that is wrong, such as after a
// slow batch, no batch would ever put it right.
func (b *Batcher) doubtful(now time.Time) bool {
	return b.idle > 0 && b.lanes.count == 0 && now.Sub(b.ran) >= doubtAfter
}

// ahead estimates the time until a request that comes now starts, and how long
// its batch takes.
func (b *Batcher) ahead(it *item, l *lane) (wait, own time.Duration) {
	rows := 0
	it.sequence = b.lanes.sequence + 1
	for _, other := range b.lanes.active {
		for _, w := range other.waiting {
			if byTurn(w, it) > 0 {
				break
			}
			rows += w.rows
		}
	}
	size := max(l.curve().enough(b.limit.rows), it.rows, 1)
	each := l.cost.of(size)
	wait = b.free(it.enqueued) + time.Duration(rows/size)*each/time.Duration(b.cfg.Instances)
	if rows == 0 && b.resting() {
		return wait, l.cost.of(it.rows)
	}
	return wait, each
}

// free is the time until an instance is idle.
func (b *Batcher) free(now time.Time) time.Duration {
	if b.resting() {
		return 0
	}
	return b.nextFree(now)
}

// resting tells whether an instance is idle, or is about to be: those of a batcher
// that was just made have neither run nor waited yet.
func (b *Batcher) resting() bool {
	return b.idle > 0 || !slices.ContainsFunc(b.busy, func(s span) bool { return !s.begun.IsZero() })
}

// nextFree is the time until the first of the busy instances is idle; never when
// none is busy. One that takes longer than its batches do is about to be.
func (b *Batcher) nextFree(now time.Time) time.Duration {
	first := never
	for _, s := range b.busy {
		if !s.begun.IsZero() {
			first = min(first, max(s.ends.Sub(now), 0))
		}
	}
	return first
}
