package gate_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/gateway/admission/gate"
	"triptych/shared/call"
	"triptych/shared/failure"
)

// service is a simulated model: it returns when a request has been worked on.
type service func()

// slots works on so many at a time, in the order in which they come; takes is how
// long one takes.
func slots(n int, takes func() time.Duration) service {
	free := make(chan struct{}, n)
	return func() {
		free <- struct{}{}
		time.Sleep(takes())
		<-free
	}
}

// batches runs a batch at a time of those who have come; its throughput grows with
// how many that are.
type batches struct {
	most        int
	fixed, each time.Duration

	mu      sync.Mutex
	running bool
	waiting []chan struct{}
}

func (b *batches) work() {
	done := make(chan struct{})
	b.mu.Lock()
	b.waiting = append(b.waiting, done)
	lead := !b.running
	b.running = true
	b.mu.Unlock()
	if lead {
		go b.run()
	}
	<-done
}

func (b *batches) run() {
	for {
		b.mu.Lock()
		n := min(b.most, len(b.waiting))
		batch := b.waiting[:n:n]
		b.waiting = b.waiting[n:]
		b.running = n > 0
		b.mu.Unlock()
		if n == 0 {
			return
		}
		time.Sleep(b.fixed + time.Duration(n)*b.each)
		for _, done := range batch {
			close(done)
		}
	}
}

// outcome is what became of one request.
type outcome struct {
	at   time.Time // when it came
	took time.Duration
	err  error
	info call.Info
}

// load is an open loop: requests come at random at a rate, whatever becomes of those
// before.
type load struct {
	gates   *gate.Gates
	service service
	rate    float64
	timeout time.Duration
	hangsUp bool // after that, without having said so before
	// of says who asks, for the nth request.
	of func(n int) call.Info

	mu  sync.Mutex
	all []outcome
}

// run sends for d and waits for the answers.
func (l *load) run(t *testing.T, d time.Duration) []outcome {
	t.Helper()
	var running sync.WaitGroup
	rng := rand.New(rand.NewPCG(1, 2))
	l.all = nil
	until := time.Now().Add(d)
	for n := 0; time.Now().Before(until); n++ {
		info := call.Info{}
		if l.of != nil {
			info = l.of(n)
		}
		running.Go(func() { l.request(t.Context(), info) })
		time.Sleep(time.Duration(rng.ExpFloat64() / l.rate * float64(time.Second)))
	}
	running.Wait()
	return l.all
}

func (l *load) request(ctx context.Context, info call.Info) {
	began := time.Now()
	timeout := l.timeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	ctx, cancel := context.WithCancel(call.With(ctx, info))
	if l.hangsUp {
		defer time.AfterFunc(timeout, cancel).Stop()
	} else {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	pass, err := l.gates.Enter(ctx, "m")
	if err == nil {
		l.service()
		if err = failure.OfContext(ctx); err != nil {
			pass.Leave(err)
		} else {
			pass.Leave(nil)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, outcome{began, time.Since(began), err, info})
}

// answered are those that were, after the first while.
func answered(all []outcome) []outcome {
	return slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return o.err != nil })
}

// p99 is the time that 99 of 100 took at the most.
func p99(all []outcome) time.Duration {
	times := make([]time.Duration, len(all))
	for i, o := range all {
		times[i] = o.took
	}
	slices.Sort(times)
	return times[len(times)*99/100]
}

func kinds(all []outcome) map[failure.Kind]int {
	count := map[failure.Kind]int{}
	for _, o := range all {
		if o.err != nil {
			count[failure.KindOf(o.err)]++
		}
	}
	return count
}

func gates(t *testing.T, configure ...func(*gate.Config)) (*gate.Gates, *prometheus.Registry) {
	t.Helper()
	cfg := gate.DefaultConfig()
	for _, c := range configure {
		c(&cfg)
	}
	registry := prometheus.NewRegistry()
	g, err := gate.New(cfg, registry)
	if err != nil {
		t.Fatal(err)
	}
	return g, registry
}
