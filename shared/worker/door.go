// Package worker is the door by which jobs come to a service's models: it takes
// tasks from their queues, has the model server run them like any other request,
// and stores what follows. It knows neither models nor plans.
package worker

import (
	"context"
	"runtime"
	"sync"
	"time"

	"triptych/proto/inference"
	"triptych/shared/app"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/telemetry"
)

// Models is where tasks are run.
type Models interface {
	// Serving names the models that can serve now.
	Serving() []string
	// Config is the configuration of a model that is served.
	Config(model string) (*inference.ModelConfig, error)
	// Unwatched is how long nobody has waited for an answer: 0 while somebody does.
	// The work of jobs does not count.
	Unwatched() time.Duration
	// ModelInfer runs one request, whatever door it came by.
	ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error)
}

// Door takes tasks for the models of one service. Safe for concurrent use.
type Door struct {
	cfg       Config
	store     *jobs.Store
	models    Models
	tel       *telemetry.Telemetry
	metrics   *metrics
	house     house
	cancelled cancelled
	held      held
	owed      owed
	now       func() time.Time // the wall clock: deadlines are by it
	// processors is how many there are for Go code when the door is made: a service may
	// leave some of them to its models for a while.
	processors int

	stopTaking context.CancelFunc
	stopWork   context.CancelFunc
	pulling    sync.WaitGroup // who takes tasks
	tasks      sync.WaitGroup // what was taken
	others     sync.WaitGroup

	mu      sync.Mutex
	pullers map[string]*puller
}

// Option changes a door for a test.
type Option func(*Door)

// WithClock makes a door read the time of deadlines from now.
func WithClock(now func() time.Time) Option { return func(d *Door) { d.now = now } }

// New makes a door that takes nothing before it starts.
func New(cfg Config, store *jobs.Store, models Models, tel *telemetry.Telemetry, options ...Option) (*Door, error) {
	d := &Door{cfg: cfg, store: store, models: models, tel: tel, now: time.Now, processors: runtime.GOMAXPROCS(0), owed: owed{woke: make(chan struct{}, 1)}, pullers: map[string]*puller{}}
	for _, o := range options {
		o(d)
	}
	var err error
	d.metrics, err = newMetrics(tel.Registry, d)
	return d, err
}

// Part takes tasks while a program runs. At the end it takes no more, finishes what
// it holds, acknowledges that, and gives back what it can't finish in time.
func (d *Door) Part() app.Part {
	return app.Part{Name: "jobs door", Door: true, Start: d.start, Stop: d.stop}
}

func (d *Door) start(ctx context.Context) error {
	// Both end when the door stops, not when the end is asked for.
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	taking, stopTaking := context.WithCancel(work)
	d.stopWork, d.stopTaking = stopWork, stopTaking
	d.pulling.Go(func() { d.follow(taking, work) })
	d.others.Go(func() { d.keep(work) })
	d.others.Go(func() { d.cancelled.watch(taking, d.store, d.tel.Logger) })
	return nil
}

// grace is kept of the time for the end, to give back what can't be finished.
const grace = 2 * time.Second

func (d *Door) stop(ctx context.Context) error {
	d.stopTaking()
	finish := ctx
	if until, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		finish, cancel = context.WithDeadline(ctx, until.Add(-min(grace, time.Until(until)/4)))
		defer cancel()
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		d.pulling.Wait() // from here on nobody adds tasks
		d.tasks.Wait()
	}()
	select {
	case <-over:
	case <-finish.Done():
	}
	d.stopWork()
	select {
	case <-over:
		d.others.Wait()
		return nil
	default:
	}
	select {
	case <-over:
		d.others.Wait()
		return nil
	case <-ctx.Done():
	}
	// A model that does not heed its context is left behind, its task is not.
	d.held.giveBack()
	return failure.Wrap(ctx.Err(), failure.Deadline, "a task of a job was still worked on")
}

// lookEvery is the pause between two looks at which models there are.
const lookEvery = 500 * time.Millisecond

// follow keeps a puller for each model that can serve.
func (d *Door) follow(ctx, work context.Context) {
	var pullers sync.WaitGroup
	defer pullers.Wait()
	for {
		serving := map[string]bool{}
		for _, model := range d.models.Serving() {
			serving[model] = true
		}
		d.mu.Lock()
		for model, p := range d.pullers {
			if !serving[model] {
				p.cancel()
				delete(d.pullers, model)
			}
		}
		for model := range serving {
			if d.pullers[model] == nil {
				p := d.newPuller(model)
				var own context.Context
				own, p.cancel = context.WithCancel(ctx)
				d.pullers[model] = p
				pullers.Go(func() {
					p.run(own, work)
					d.gone(model)
				})
			}
		}
		d.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

// gone drops the metrics of a model that is served no longer.
func (d *Door) gone(model string) {
	if !d.serves(model) {
		d.metrics.forget(model)
	}
}

// serves tells whether tasks for a model are taken now.
func (d *Door) serves(model string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pullers[model] != nil
}

func (d *Door) each(visit func(*puller)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pullers {
		visit(p)
	}
}

// Ready says why this service can't be counted on to do the work of jobs: NATS is
// there, but gives no answer when it is asked for tasks. While NATS is away no
// other service would do better.
func (d *Door) Ready() error {
	var failed error
	if away := d.store.Connection().Ready() != nil; away {
		return failed
	}
	d.each(func(p *puller) {
		if since := p.unanswered(); since > silence {
			failed = failure.New(failure.Unavailable, "no answer for %s when NATS was asked for tasks of model %q", since.Round(time.Second), p.model)
		}
	})
	return failed
}
