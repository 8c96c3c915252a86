package batcher

import "time"

// pace forecasts when rows come, counted from the moment when an instance became
// idle: a round. Callers that wait for their answers come back a little after a
// batch, all together; others come evenly. Both show in how long it takes until
// the first, the second, the n-th row is there.
type pace struct {
	round uint64
	begun time.Time
	last  time.Time       // of the newest row of the round, or its beginning
	times []time.Duration // of this round, by row
	mean  []time.Duration // of the rounds before, by row; unknown is never
	empty float64         // share of the rounds that began with hardly anybody waiting
}

const (
	never = time.Duration(1<<63 - 1)
	// paceWeight is that of the newest round.
	paceWeight = 0.25
)

func newPace(rows int) pace {
	p := pace{times: make([]time.Duration, 0, rows), mean: make([]time.Duration, rows)}
	p.forget()
	return p
}

func (p *pace) forget() {
	for i := range p.mean {
		p.mean[i] = never
	}
}

// begin starts a round with the rows that wait already.
func (p *pace) begin(round uint64, now time.Time, waiting int) {
	p.round, p.begun, p.last = round, now, now
	p.times = p.times[:0]
	p.arrive(now, waiting)
	empty := 0.0
	if 8*waiting <= len(p.mean) {
		empty = 1
	}
	p.empty += paceWeight * (empty - p.empty)
}

// inStep tells whether callers come back together after each batch: hardly
// anybody waits when an instance becomes idle.
func (p *pace) inStep() bool { return p.empty > 0.5 }

// pause is after how much of silence what was learned says nothing any longer: who
// comes then is somebody else.
const pause = time.Second

// arrive notes rows that have just come.
func (p *pace) arrive(now time.Time, rows int) {
	if rows > 0 {
		if now.Sub(p.last) > pause {
			p.forget()
		}
		p.last = now
	}
	for range min(rows, cap(p.times)-len(p.times)) {
		p.times = append(p.times, now.Sub(p.begun))
	}
}

// end learns from the round. A row that did not come would have come later than
// the round took. A gap longer than the horizon is as good as one without an end:
// a quiet hour must not be remembered for long.
func (p *pace) end(now time.Time, horizon time.Duration) {
	length := now.Sub(p.begun)
	var before, seen time.Duration
	for i, mean := range p.mean {
		at := length
		if i < len(p.times) {
			at = p.times[i]
		}
		seen += min(at-before, horizon)
		before = at
		switch {
		case mean == never:
			p.mean[i] = seen
		case i < len(p.times) || seen > mean:
			p.mean[i] += time.Duration(paceWeight * float64(seen-mean))
		}
	}
}

// until forecasts how long after the newest row there will be so many more.
func (p *pace) until(have, want int) time.Duration {
	if want > len(p.mean) || p.mean[want-1] == never {
		return never
	}
	if have == 0 {
		return p.mean[want-1]
	}
	return max(p.mean[want-1]-p.mean[have-1], 0)
}

// within forecasts how many rows there will be so long after the newest of those
// that are there.
func (p *pace) within(have int, d time.Duration) int {
	rows := have
	for rows < len(p.mean) && p.until(have, rows+1) <= d {
		rows++
	}
	return rows
}
