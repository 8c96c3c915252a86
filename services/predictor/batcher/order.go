package batcher

import "slices"

// order keeps answers back until those to earlier requests are there, where a
// configuration says preserve_ordering. It is guarded by the batcher's lock.
type order struct {
	kept     bool
	inFlight []*item // oldest first
}

func (o *order) join(it *item) {
	if o.kept {
		o.inFlight = append(o.inFlight, it)
	}
}

// answer hands the caller its answer when its turn has come.
func (o *order) answer(it *item) {
	if !o.kept {
		it.done <- struct{}{}
		return
	}
	it.answered = true
	o.flush()
}

// leave lets nobody wait for a request that gets no answer.
func (o *order) leave(it *item) {
	if !o.kept {
		return
	}
	if at := slices.Index(o.inFlight, it); at >= 0 {
		o.inFlight = slices.Delete(o.inFlight, at, at+1)
	}
	o.flush()
}

func (o *order) flush() {
	for len(o.inFlight) > 0 && o.inFlight[0].answered {
		it := o.inFlight[0]
		o.inFlight = slices.Delete(o.inFlight, 0, 1)
		it.done <- struct{}{}
	}
}
