package pipeline

import (
	"context"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
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
	pool    map[string]oip.Tensor
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
		pool:    make(map[string]oip.Tensor, len(req.GetInputs())+len(p.steps)),
		started: make([]bool, len(p.steps)),
		done:    make([]bool, len(p.steps)),
		results: make(chan result, len(p.steps)),
	}
	for i, in := range req.GetInputs() {
		r.pool[in.GetName()] = oip.Tensor{Name: in.GetName(), Datatype: in.GetDatatype(), Shape: in.GetShape(), Parameters: in.GetParameters(), Data: req.GetRawInputContents()[i]}
	}
	if err := r.all(ctx, cancel); err != nil {
		return nil, err
	}
	return r.answer(), nil
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
			res.err = r.finish(res)
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
		req := r.request(r.plan.steps[index])
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

// request is a step's request: tensors of the pool under the step's own names.
// The bytes are those of the pool. What is not there is an optional input of the
// ensemble that the caller left out.
func (r *run) request(s step) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{ModelName: s.model, ModelVersion: s.version, Id: r.req.GetId(), Parameters: r.req.GetParameters()}
	for _, b := range s.inputs {
		t, ok := r.pool[b.pool]
		if !ok {
			continue
		}
		t.Name = b.tensor
		oip.AddInput(req, t)
	}
	for _, b := range s.outputs {
		req.Outputs = append(req.Outputs, &inference.ModelInferRequest_InferRequestedOutputTensor{Name: b.tensor})
	}
	return req
}

func (r *run) finish(res result) error {
	s := r.plan.steps[res.step]
	for _, b := range s.outputs {
		t, ok := oip.Output(res.resp, b.tensor)
		if !ok {
			return failure.New(failure.Internal, "the model gave no output %q", b.tensor)
		}
		r.pool[b.pool] = t
	}
	r.done[res.step] = true
	return nil
}

// answer is the ensemble's outputs under its own names.
func (r *run) answer() *inference.ModelInferResponse {
	resp := &inference.ModelInferResponse{}
	for _, out := range r.plan.config.GetOutput() {
		t := r.pool[out.GetName()]
		t.Name = out.GetName()
		oip.AddOutput(resp, t)
	}
	return resp
}
