// Package worker is the door by which jobs come to a service's models: it takes
// tasks from their queues, has the model server run them like any other request,
// and stores what follows. It knows neither models nor plans.
package worker

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/app"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
)

// Models is where tasks are run.
type Models interface {
	// Serving names the models that can serve now.
	Serving() []string
	// ModelInfer runs one request, whatever door it came by.
	ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error)
}

// Door takes tasks for the models of one service.
type Door struct {
	cfg    Config
	store  *jobs.Store
	models Models
	tel    *telemetry.Telemetry
	cancel context.CancelFunc
	loops  sync.WaitGroup
}

// New makes a door that takes nothing before it starts.
func New(cfg Config, store *jobs.Store, models Models, tel *telemetry.Telemetry) *Door {
	return &Door{cfg: cfg, store: store, models: models, tel: tel}
}

// Part takes tasks while a program runs. At the end it takes no more, finishes what
// it holds, and acknowledges it.
func (d *Door) Part() app.Part {
	return app.Part{
		Name: "jobs door", Door: true,
		Start: func(ctx context.Context) error {
			ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
			d.loops.Go(func() { d.watch(ctx) })
			return nil
		},
		Stop: func(context.Context) error {
			d.cancel()
			d.loops.Wait()
			return nil
		},
	}
}

// look is the pause between two looks at which models there are.
const look = time.Second

func (d *Door) watch(ctx context.Context) {
	taken := map[string]bool{}
	for ctx.Err() == nil {
		for _, model := range d.models.Serving() {
			if taken[model] || d.store.Connection().EnsureModel(ctx, model) != nil {
				continue
			}
			taken[model] = true
			for level := 1; level <= stream.Levels; level++ {
				d.loops.Go(func() { d.take(ctx, model, level) })
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}

func (d *Door) take(ctx context.Context, model string, level int) {
	for ctx.Err() == nil {
		consumer, err := d.store.Connection().JetStream().Consumer(ctx, stream.StepStream(model), stream.StepConsumer(level))
		if err != nil {
			time.Sleep(look)
			continue
		}
		msg, err := consumer.Next(jetstream.FetchMaxWait(look))
		if err == nil {
			d.work(ctx, msg)
		}
	}
}

func (d *Door) work(ctx context.Context, msg jetstream.Msg) {
	ctx, task, err := d.store.ReadTask(ctx, msg.Headers(), msg.Data())
	if err != nil {
		_ = msg.TermWithReason(failure.Message(err))
		return
	}
	req, err := d.store.Request(ctx, task)
	if err == nil {
		var resp *inference.ModelInferResponse
		if resp, err = d.models.ModelInfer(ctx, req); err == nil {
			err = d.store.Advance(ctx, task, resp)
		}
	}
	if err != nil {
		v := task.Verdict(ctx, &pb.Verdict{Outcome: pb.Outcome_OUTCOME_FAILED, Step: task.Model(), Error: &pb.Error{Kind: failure.KindOf(err).String(), Message: failure.Message(err)}})
		_, err = d.store.Decide(ctx, v, task.GetFence())
	}
	if err != nil {
		_ = msg.NakWithDelay(d.cfg.Delay)
		return
	}
	_ = msg.Ack()
}
