package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"triptych/loadtest/measure"
)

// Arrivals says when an open loop sends.
type Arrivals struct {
	// Rate is the mean number of requests a second. They come at random, as
	// from many users who know nothing of each other: a Poisson process.
	Rate float64
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
	p := pool{session: session{Plan: plan, target: target, recorder: recorder}, jobs: make(chan job, arrivals.MaxOutstanding)}
	defer p.close()
	random := rand.New(rand.NewPCG(arrivals.Seed, 0))
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	var due time.Duration
	for n := int64(0); ; n++ {
		due += time.Duration(random.ExpFloat64() / arrivals.Rate * float64(time.Second))
		if p.over(n, due) || !arrivals.waitUntil(ctx, timer, start.Add(due)) {
			return
		}
		p.submit(work, job{n, start.Add(due)})
	}
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
		p.recorder.Failed(measure.Fault{Kind: measure.Overrun, Message: "not sent: as many requests as allowed were in flight"}, 0)
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
