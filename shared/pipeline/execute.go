package pipeline

import (
	"context"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Caller runs one step's request where its model is served. It may be called
// concurrently, and must return when the context ends.
type Caller func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error)

// run is one request on its way through a plan. Only the goroutine of Execute
// touches it.
type run struct {
	plan    *Plan
	call    Caller
	req     *inference.ModelInferRequest
	pool    Pool
	started []bool
	done    []bool
	results chan result
	running int
}

type result struct {
	step int
	resp *inference.ModelInferResponse
	err  error
}

// Execute runs a checked request through the plan: each step as soon as its
// inputs are there, so that steps which do not need each other run side by side.
// The first failure ends the others and is returned with the step's name; no step
// is running when Execute returns. Parameters of the request go to every step.
func (p *Plan) Execute(ctx context.Context, req *inference.ModelInferRequest, call Caller) (*inference.ModelInferResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{
		plan: p, call: call, req: req,
		pool:    p.NewPool(req),
		started: make([]bool, len(p.steps)),
		done:    make([]bool, len(p.steps)),
		results: make(chan result, len(p.steps)),
	}
	if err := r.all(ctx, cancel); err != nil {
		return nil, err
	}
	return p.Answer(r.pool), nil
}

func (r *run) all(ctx context.Context, cancel context.CancelFunc) error {
	var failed error
	for {
		if failed == nil {
			r.start(ctx)
		}
		if r.running == 0 {
			return failed
		}
		res := <-r.results
		r.running--
		if res.err == nil {
			res.err = r.plan.Take(res.step, res.resp, r.pool)
			r.done[res.step] = true
		}
		if res.err != nil && failed == nil {
			failed = failure.Prefix("step "+r.plan.steps[res.step].model, res.err)
			cancel()
		}
	}
}

// start begins every step that can run. The last of them runs on this goroutine
// when nothing else does: a chain, the usual graph, needs no other.
func (r *run) start(ctx context.Context) {
	ready := r.ready()
	for i, index := range ready {
		r.started[index] = true
		r.running++
		req := r.plan.Request(index, r.pool, r.req)
		if i == len(ready)-1 && r.running == 1 {
			r.results <- r.step(ctx, index, req)
			return
		}
		go func() { r.results <- r.step(ctx, index, req) }()
	}
}

func (r *run) ready() []int {
	var ready []int
	for i, s := range r.plan.steps {
		waits := r.started[i]
		for _, j := range s.after {
			waits = waits || !r.done[j]
		}
		if !waits {
			ready = append(ready, i)
		}
	}
	return ready
}

// step calls a step. A panic is its failure: nobody else stands around the
// goroutine.
func (r *run) step(ctx context.Context, index int, req *inference.ModelInferRequest) result {
	res := result{step: index}
	res.err = failure.Guard("internal error", func() (err error) {
		res.resp, err = r.call(ctx, req)
		return err
	})
	return res
}
