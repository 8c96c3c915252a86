package batcher

import (
	"math/rand/v2"
	"testing"
	"time"
)

const ms = time.Millisecond

func learned(points map[int]time.Duration) *cost {
	c := &cost{}
	for rows, took := range points {
		c.add(rows, took)
	}
	return c
}

func TestCostBetweenWhatWasSeen(t *testing.T) {
	cases := map[string]struct {
		seen map[int]time.Duration
		rows int
		want time.Duration
	}{
		"nothing is known":         {nil, 4, 0},
		"seen":                     {map[int]time.Duration{1: 5 * ms, 4: 8 * ms}, 4, 8 * ms},
		"on the line between":      {map[int]time.Duration{1: 5 * ms, 4: 8 * ms}, 3, 7 * ms},
		"on the line beyond":       {map[int]time.Duration{1: 5 * ms, 4: 8 * ms}, 8, 12 * ms},
		"on the line before":       {map[int]time.Duration{4: 8 * ms, 8: 12 * ms}, 2, 6 * ms},
		"never less for more":      {map[int]time.Duration{4: 8 * ms, 8: 6 * ms}, 16, 8 * ms},
		"one size: in proportion":  {map[int]time.Duration{2: 4 * ms}, 8, 16 * ms},
		"one size: not below it":   {map[int]time.Duration{8: 4 * ms}, 2, 4 * ms},
		"of three the nearest two": {map[int]time.Duration{1: 1 * ms, 2: 10 * ms, 4: 12 * ms}, 8, 16 * ms},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := learned(c.seen).of(c.rows); got != c.want {
				t.Errorf("a batch of %d takes %s, want %s", c.rows, got, c.want)
			}
		})
	}
}

// A device that gets slower is slower at every size, also at those that have not
// run since.
func TestCostFollowsTheDevice(t *testing.T) {
	c := learned(map[int]time.Duration{1: 10 * ms, 8: 80 * ms})
	for range 30 {
		c.add(1, 20*ms)
	}
	if got := c.of(1); got < 19*ms || got > 21*ms {
		t.Errorf("one row takes %s, want 20ms", got)
	}
	if got := c.of(8); got < 110*ms {
		t.Errorf("eight rows take %s: their time is still that of a quiet machine", got)
	}
	for range 200 {
		c.add(8, 160*ms)
	}
	if got := c.of(8); got < 155*ms || got > 165*ms {
		t.Errorf("eight rows take %s, want 160ms", got)
	}
}

// One batch that was held up for a second changes little.
func TestCostForgivesOneSlowBatch(t *testing.T) {
	c := learned(map[int]time.Duration{1: 10 * ms, 8: 20 * ms})
	for range 50 {
		c.add(1, 10*ms)
	}
	c.add(1, time.Second)
	for range 20 {
		c.add(1, 10*ms)
	}
	if got := c.of(1); got > 12*ms {
		t.Errorf("one row takes %s", got)
	}
}

func TestEnough(t *testing.T) {
	line := func(fixed, each float64) *cost {
		c := &cost{}
		for _, rows := range []int{1, 2, 4, 8, 16, 32} {
			c.add(rows, time.Duration((fixed+each*float64(rows))*float64(ms)))
		}
		return c
	}
	cases := map[string]struct {
		cost       *cost
		rows, want int
	}{
		"a row is as dear in a batch":      {line(0, 8), 16, 1},
		"a little noise changes nothing":   {line(.1, 8), 16, 1},
		"an accelerator takes all":         {line(5, .15), 16, 16},
		"nearly all is all":                {line(3, 8), 5, 5},
		"an eighth is enough":              {line(1, 4), 32, 4},
		"one row":                          {line(0, 8), 1, 1},
		"nothing is known":                 {&cost{}, 16, 16},
		"one size alone says nothing":      {learned(map[int]time.Duration{1: ms}), 16, 16},
		"a knee: no more than to the knee": {learned(map[int]time.Duration{1: 8 * ms, 4: 9 * ms, 8: 18 * ms, 16: 36 * ms}), 16, 4},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.cost.enough(c.rows); got != c.want {
				t.Errorf("%d of %d, want %d", got, c.rows, c.want)
			}
		})
	}
}

// By the clock large batches seem cheap where while they run other work waits. What a
// row costs the processor tells the truth.
func TestEnoughByWork(t *testing.T) {
	l := &lane{cost: *learned(map[int]time.Duration{1: 18 * ms, 4: 56 * ms, 8: 104 * ms})}
	if got := l.curve().enough(16); got != 8 {
		t.Errorf("by the clock %d are enough, want 8", got)
	}
	l.work.add(1, 9*ms)
	if got := l.curve().enough(16); got != 8 {
		t.Errorf("by the work of one size %d are enough, want 8", got)
	}
	l.work.add(4, 37*ms)
	if got := l.curve().enough(16); got != 1 {
		t.Errorf("by the work %d are enough, want 1", got)
	}
}

// A size that was slow when it first ran, as on a cold device, is tried again though it
// does not seem to pay.
func TestEnoughForgetsAColdStart(t *testing.T) {
	l := &lane{cost: *learned(map[int]time.Duration{1: 10 * ms, 8: 100 * ms})}
	waiting := make([]*item, 8)
	for i := range waiting {
		waiting[i] = &item{rows: 1}
	}
	for range 4 * probeEvery {
		rows := adaptive{}.cut(l, waiting, scene{limit: 8}).rows
		l.cost.add(rows, 6*ms+time.Duration(rows)*4*ms)
	}
	if got := l.curve().enough(8); got != 8 {
		t.Errorf("%d are enough", got)
	}
}

// While one size alone runs, noise in what it takes changes nothing of what is known
// of the others.
func TestCostIsNotCarriedAway(t *testing.T) {
	c := learned(map[int]time.Duration{1: 10 * ms, 8: 60 * ms})
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		took := 8 * ms
		if random.IntN(4) == 0 { // something else has the processor
			took = 25 * ms
		}
		c.add(1, took)
	}
	if got := c.of(8); got < 40*ms || got > 90*ms {
		t.Errorf("eight rows take %s, want about 60ms", got)
	}
}

// What the callers choose does not fill memory.
func TestCostIsBounded(t *testing.T) {
	c := &cost{}
	for rows := 1; rows < 10*maxPoints; rows++ {
		c.add(rows, time.Duration(rows)*ms)
	}
	if len(c.points) != maxPoints {
		t.Errorf("%d sizes are kept", len(c.points))
	}
	if got := c.of(5 * maxPoints); got < 600*ms || got > 680*ms {
		t.Errorf("beyond what is kept: %s", got)
	}
}

// rounds lets rows come at the given times after the beginning of each round.
func rounds(p *pace, count int, long time.Duration, times ...time.Duration) {
	now := time.Unix(0, 0)
	for n := range count {
		p.begin(uint64(n), now, 0)
		for _, at := range times {
			p.arrive(now.Add(at), 1)
		}
		now = now.Add(long)
		p.end(now, time.Second)
	}
}

func near(got, want time.Duration) bool { return got > want*9/10 && got < want*11/10 }

func TestPace(t *testing.T) {
	p := newPace(8)
	if p.until(0, 1) != never {
		t.Error("foresees what it has not seen")
	}
	rounds(&p, 20, 10*ms, ms, 2*ms, 3*ms)
	if got := p.until(1, 3); !near(got, 2*ms) {
		t.Errorf("two more come in %s, want 2ms", got)
	}
	if got := p.until(0, 1); !near(got, ms) {
		t.Errorf("the first comes in %s, want 1ms", got)
	}
	if got := p.until(3, 4); !near(got, 7*ms) {
		t.Errorf("a fourth, which never came, would come in %s, want the 7ms that are left of a round", got)
	}
	if got := p.until(3, 9); got != never {
		t.Errorf("beyond the largest batch: %s", got)
	}
	// The fourth caller is there from now on, and then gone again.
	rounds(&p, 20, 10*ms, ms, 2*ms, 3*ms, 4*ms)
	if got := p.until(3, 4); !near(got, ms) {
		t.Errorf("the fourth comes in %s, want 1ms", got)
	}
	rounds(&p, 3, 10*ms, ms, 2*ms, 3*ms)
	if got := p.until(3, 4); got < 3*ms {
		t.Errorf("after three rounds without the fourth it is still expected in %s", got)
	}
}

// A quiet hour is soon forgotten.
func TestPaceForgetsAQuietHour(t *testing.T) {
	p := newPace(8)
	now := time.Unix(0, 0)
	p.begin(0, now, 0)
	p.arrive(now.Add(time.Hour), 8)
	p.end(now.Add(time.Hour), 20*ms)
	rounds(&p, 8, 10*ms, ms, 2*ms, 3*ms)
	if got := p.until(0, 3); got > 5*ms {
		t.Errorf("three rows in %s, want about 3ms", got)
	}
}

// Rows that wait when the round begins are there from its beginning.
func TestPaceOfRowsThatWait(t *testing.T) {
	p := newPace(8)
	now := time.Unix(0, 0)
	for n := range 10 {
		p.begin(uint64(n), now, 5)
		p.arrive(now.Add(2*ms), 3)
		now = now.Add(5 * ms)
		p.end(now, time.Second)
	}
	if got := p.until(2, 5); got != 0 {
		t.Errorf("rows that were there come in %s", got)
	}
	if got := p.until(5, 8); !near(got, 2*ms) {
		t.Errorf("three more in %s, want 2ms", got)
	}
}

func BenchmarkDecision(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	l := &lane{cost: *learned(map[int]time.Duration{1: 5 * ms, 16: 8 * ms}), pace: newPace(16)}
	rounds(&l.pace, 20, 10*ms, ms, 2*ms, 3*ms, 4*ms)
	for n := range 4 {
		l.waiting = append(l.waiting, &item{rows: 1, enqueued: time.Unix(0, int64(n)+random.Int64N(100))})
	}
	r := adaptive{delay: time.Second}
	s := scene{now: time.Unix(0, 0), limit: 16, free: never}
	b.ReportAllocs()
	for b.Loop() {
		r.cut(l, l.waiting, s)
	}
}

// A max_batch_size that means "no bound" must not be counted through, least of all
// under the lock that everybody needs.
func TestEnoughOfTheLargestBatch(t *testing.T) {
	c := learned(map[int]time.Duration{1: 5 * ms, 2: 5*ms + 1000, 1024: 6 * ms})
	begun := time.Now()
	if got := c.enough(1<<31 - 1); got < 1024 {
		t.Errorf("%d rows are enough", got)
	}
	if took := time.Since(begun); took > ms {
		t.Errorf("it took %s to think about it", took)
	}
}

// Those of a batcher that was just made have not begun to wait yet: that they are
// not idle does not mean that they never will be.
func TestWhatIsAheadBeforeTheInstancesBegin(t *testing.T) {
	cfg := Config{MaxBatchSize: 8, Dynamic: true, Instances: 2}.normal()
	b := &Batcher{cfg: cfg, lanes: newLanes(cfg), limit: newLimit(8), busy: make([]span, 2)}
	b.lanes.seed = *learned(map[int]time.Duration{1: 5 * ms, 8: 6 * ms})
	now := time.Now()
	l := b.lanes.of(nil)
	if wait, own := b.ahead(&item{rows: 1, level: 1, enqueued: now}, l); wait != 0 || own != 5*ms {
		t.Errorf("the first waits for %s and runs for %s", wait, own)
	}
	for range 16 {
		b.lanes.push(&item{rows: 1, level: 1, enqueued: now}, l, now)
	}
	if wait, own := b.ahead(&item{rows: 1, level: 1, enqueued: now}, l); wait != 6*ms || own != 6*ms {
		t.Errorf("one behind two batches waits for %s and runs for %s", wait, own)
	}
}
