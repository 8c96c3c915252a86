package load

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"triptych/loadtest/measure"
)

// What one generator can sensibly be asked for: requests at once, and a second.
const (
	MaxInFlight = 100_000
	MinRate     = 0.001
	MaxRate     = 1_000_000
)

// Arrivals says when an open loop sends.
type Arrivals struct {
	// Rate is the mean number of requests a second. They come at random, as
	// from many users who know nothing of each other: a Poisson process.
	Rate float64
	// Ramp leads Rate to Until in a straight line over the plan's Duration, which
	// must then be given. One of the two may be 0.
	Ramp  bool
	Until float64
	// Even sends at even distances, as a clock would, in place of random ones.
	Even bool
	// MaxOutstanding bounds the requests in flight. One that is due when so many
	// are is not sent: it counts as the error Overrun.
	MaxOutstanding int
	// Seed makes the same arrivals again.
	Seed uint64
	// Exact waits for the last millisecond in the kernel, where it can: the
	// timers of Go are up to a millisecond late in a process that is idle.
	Exact bool
}

// job is one request that is due.
type job struct {
	n       int64
	planned time.Time
}

// Open sends each request when it is due, whether or not earlier ones have been
// answered. Latency counts from when a request was due: while a server stalls,
// every user who would have come meanwhile is counted with the wait that they
// would have had, and a generator that is late itself can't hide it.
func Open(ctx context.Context, plan Plan, arrivals Arrivals, target Target, recorder *measure.Recorder) {
	work, end := withGrace(ctx)
	defer end()
	p := pool{session: newSession(plan, target, recorder), jobs: make(chan job, arrivals.MaxOutstanding)}
	defer p.close()
	random := rand.New(rand.NewPCG(arrivals.Seed, 0))
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	var count float64
	for n := int64(0); ; n++ {
		count += arrivals.next(random)
		due, ok := arrivals.moment(count, plan.Duration)
		if !ok || p.over(n, due) || !arrivals.waitUntil(ctx, timer, start.Add(due)) {
			return
		}
		p.submit(work, job{n, start.Add(due)})
	}
}

// Start is the arrivals as they begin: without a ramp, or with the rate of its
// first tenth when it begins with nothing.
func (a Arrivals) Start() Arrivals {
	if a.Ramp {
		a.Rate = max(a.Rate, (a.Until-a.Rate)/10)
	}
	a.Ramp, a.Until = false, 0
	return a
}

// next is how much of the mean number of requests goes by until the next one.
func (a Arrivals) next(random *rand.Rand) float64 {
	if a.Even {
		return 1
	}
	return random.ExpFloat64()
}

// moment is when so many requests are due on average. A ramp that ends in nothing
// never comes to some numbers: then it is false.
func (a Arrivals) moment(count float64, ramp time.Duration) (due time.Duration, ok bool) {
	if !a.Ramp || a.Until == a.Rate {
		return time.Duration(count / a.Rate * float64(time.Second)), true
	}
	// The integral of the rate, Rate*t + slope*t*t/2, is solved for t in the form
	// that has no difference of large numbers.
	slope := (a.Until - a.Rate) / ramp.Seconds()
	root := a.Rate*a.Rate + 2*slope*count
	if root < 0 {
		return 0, false
	}
	return time.Duration(2 * count / (a.Rate + math.Sqrt(root)) * float64(time.Second)), true
}

// waitUntil is false when ctx is done first. A time that is past is not waited
// for.
func (a Arrivals) waitUntil(ctx context.Context, timer *time.Timer, t time.Time) bool {
	wait := time.Until(t)
	if a.Exact {
		wait -= timerError
	}
	if wait > 0 && !sleep(ctx, timer, wait) {
		return false
	}
	if a.Exact {
		kernelSleep(time.Until(t))
	}
	return ctx.Err() == nil
}

func sleep(ctx context.Context, timer *time.Timer, wait time.Duration) bool {
	timer.Reset(wait)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// pool is workers that are started when they are first needed and then stay, so
// that a request costs no goroutine. Only one goroutine submits.
type pool struct {
	session
	jobs        chan job // has room for all that may be outstanding
	outstanding atomic.Int64
	started     int64 // workers: as many as were ever outstanding
	workers     sync.WaitGroup
}

// submit hands a job to the workers, or counts it as not sent. It never waits.
func (p *pool) submit(work context.Context, j job) {
	if p.outstanding.Load() == int64(cap(p.jobs)) {
		p.fail(p.request(j.n, j.planned), measure.Fault{Kind: measure.Overrun, Message: "not sent: as many requests as allowed were in flight"}, 0)
		return
	}
	p.jobs <- j
	if p.outstanding.Add(1) > p.started {
		p.started++
		p.workers.Go(func() { p.serve(work) })
	}
}

func (p *pool) serve(work context.Context) {
	for j := range p.jobs {
		p.send(work, j.n, j.planned)
		p.outstanding.Add(-1)
	}
}

func (p *pool) close() {
	close(p.jobs)
	p.workers.Wait()
}
