package limit_test

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"

	"triptych/gateway/admission/limit"
)

// limiter is what a simulation asks: ours, and the others that it is compared with.
type limiter interface {
	Now() int
	Done(now time.Time, held time.Duration, flying int)
}

// service is a simulated model: given the time and a request, it says when requests
// end, by calling end.
type service interface {
	begin(w *world, started time.Duration)
	// age is how long the one that waits longest had waited when others were taken last.
	age() time.Duration
}

// silent is our limit before a model of which nobody says how it queues, and told one
// before a model that does.
type (
	silent struct{ *limit.Limit }
	told   struct {
		*limit.Limit
		target service
	}
)

func (s silent) Done(now time.Time, held time.Duration, flying int) {
	s.Limit.Done(now, held, 0, flying)
}

func (t told) Done(now time.Time, held time.Duration, flying int) {
	t.Limit.Done(now, held, t.target.age(), flying)
}

// world is a simulation of events in order of time, without a clock.
type world struct {
	now    time.Duration
	events events
	rng    *rand.Rand
	limit  limiter
	target service

	flying  int
	demand  int // requests that callers would have in flight; those beyond the limit wait
	done    int
	slow    float64       // how much slower the machine is at the moment
	latency time.Duration // of all that are done
	most    time.Duration
}

type event struct {
	at  time.Duration
	seq int
	run func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) } //nolint:forcetypeassert // a heap of events
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newWorld(l limiter, s service, demand int) *world {
	return &world{rng: rand.New(rand.NewPCG(1, 2)), limit: l, target: s, demand: demand, slow: 1}
}

func (w *world) after(d time.Duration, run func()) {
	heap.Push(&w.events, event{w.now + d, w.done + len(w.events)<<32, run})
}

var epoch = time.Unix(1_000_000, 0)

// fill admits as many as the limit allows of those who wait, of whom there are
// always some.
func (w *world) fill() {
	for w.flying < min(w.limit.Now(), w.demand) {
		w.flying++
		w.target.begin(w, w.now)
	}
}

// end is the end of one request.
func (w *world) end(started time.Duration) {
	held := w.now - started
	w.done++
	w.latency += held
	w.most = max(w.most, held)
	w.limit.Done(epoch.Add(w.now), held, w.flying)
	w.flying--
	w.fill()
}

// figures are what a part of a simulation came to.
type figures struct {
	rate    float64 // requests a second
	latency time.Duration
	limit   float64 // the mean
}

// run goes on for d and tells how it went.
func (w *world) run(d time.Duration) figures {
	until, began := w.now+d, w.now
	w.done, w.latency, w.most = 0, 0, 0
	var limits float64
	var ticks int
	next := w.now
	w.fill()
	for len(w.events) > 0 && w.events[0].at <= until {
		e := heap.Pop(&w.events).(event) //nolint:forcetypeassert // a heap of events
		for ; next <= e.at; next += 10 * time.Millisecond {
			limits += float64(w.limit.Now())
			ticks++
		}
		w.now = e.at
		e.run()
	}
	w.now = until
	return figures{float64(w.done) / (until - began).Seconds(), w.latency / time.Duration(max(w.done, 1)), limits / float64(max(ticks, 1))}
}

// slots works on so many requests at a time, in the order in which they come.
type slots struct {
	n     int
	takes time.Duration
	noise float64 // the spread of a time, as a part of it

	busy    int
	began   time.Duration // when one was taken last
	waiting []time.Duration
}

func (s *slots) age() time.Duration { return ageOf(s.waiting, s.began) }

func ageOf(waiting []time.Duration, began time.Duration) time.Duration {
	if len(waiting) == 0 {
		return 0
	}
	return max(0, began-waiting[0])
}

func (s *slots) begin(w *world, started time.Duration) {
	if s.busy >= s.n {
		s.waiting = append(s.waiting, started)
		return
	}
	s.busy++
	s.began = w.now
	w.after(jitter(w, s.takes, s.noise), func() {
		s.busy--
		if len(s.waiting) > 0 && s.busy < s.n {
			next := s.waiting[0]
			s.waiting = s.waiting[1:]
			s.begin(w, next)
		}
		w.end(started)
	})
}

// jitter is a time that is now and then longer, as on a busy machine.
func jitter(w *world, d time.Duration, noise float64) time.Duration {
	return time.Duration(float64(d) * w.slow * math.Exp(noise*w.rng.NormFloat64()))
}

// others has others use the machine: every so often it is slower or faster.
func (w *world) others(spread float64, every time.Duration) {
	w.slow = math.Exp(spread * w.rng.NormFloat64())
	w.after(time.Duration(float64(every)*(0.5+w.rng.Float64())), func() { w.others(spread, every) })
}

// batches runs batches, of which each takes a fixed time and one for each request.
type batches struct {
	most            int
	instances       int
	fixed, each     time.Duration
	noise           float64
	running, formed int
	began           time.Duration // when one was formed last
	waiting         []time.Duration
}

func (b *batches) age() time.Duration { return ageOf(b.waiting, b.began) }

func (b *batches) begin(w *world, started time.Duration) {
	b.waiting = append(b.waiting, started)
	b.next(w)
}

func (b *batches) next(w *world) {
	if b.running >= b.instances || len(b.waiting) == 0 {
		return
	}
	n := min(b.most, len(b.waiting))
	batch := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	b.running++
	b.formed++
	b.began = w.now
	w.after(jitter(w, b.fixed+time.Duration(n)*b.each, b.noise), func() {
		b.running--
		for _, started := range batch {
			w.end(started)
		}
		b.next(w)
	})
}
