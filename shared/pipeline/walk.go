package pipeline

import (
	"maps"
	"slices"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Pool is the tensors of one request on its way through a plan, by the
// ensemble's names for them. It is not safe for concurrent use.
type Pool map[string]oip.Tensor

// NewPool is the tensors that a checked request brings. Their bytes are the
// request's.
func (p *Plan) NewPool(req *inference.ModelInferRequest) Pool {
	pool := make(Pool, len(req.GetInputs())+len(p.steps))
	for i, in := range req.GetInputs() {
		pool[in.GetName()] = oip.Tensor{Name: in.GetName(), Datatype: in.GetDatatype(), Shape: in.GetShape(), Parameters: in.GetParameters(), Data: req.GetRawInputContents()[i]}
	}
	return pool
}

// Request is a step's request: tensors of the pool under the step's own names,
// with the id and the parameters of the ensemble's request. The bytes are those of
// the pool. What is not there is an optional input that the caller left out.
func (p *Plan) Request(step int, pool Pool, of *inference.ModelInferRequest) *inference.ModelInferRequest {
	s := p.steps[step]
	req := &inference.ModelInferRequest{ModelName: s.model, ModelVersion: s.version, Id: of.GetId(), Parameters: of.GetParameters()}
	for _, b := range s.inputs {
		t, ok := pool[b.pool]
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

// Take puts a step's outputs into the pool.
func (p *Plan) Take(step int, resp *inference.ModelInferResponse, pool Pool) error {
	for _, b := range p.steps[step].outputs {
		t, ok := oip.Output(resp, b.tensor)
		if !ok {
			return failure.New(failure.Internal, "the model gave no output %q", b.tensor)
		}
		pool[b.pool] = t
	}
	return nil
}

// Answer is the ensemble's outputs under its own names.
func (p *Plan) Answer(pool Pool) *inference.ModelInferResponse {
	resp := &inference.ModelInferResponse{}
	for _, out := range p.config.GetOutput() {
		t := pool[out.GetName()]
		t.Name = out.GetName()
		oip.AddOutput(resp, t)
	}
	return resp
}

// End stands for the answer, as the step after all others.
func (p *Plan) End() int { return len(p.steps) }

// First are the steps that wait for no other.
func (p *Plan) First() []int {
	var first []int
	for i, s := range p.steps {
		if len(s.after) == 0 {
			first = append(first, i)
		}
	}
	return first
}

// After are the steps that a step waits for. The answer waits for those for
// which no step does: every step of the plan is run.
func (p *Plan) After(step int) []int {
	if step < p.End() {
		return p.steps[step].after
	}
	var last []int
	for i := range p.steps {
		if len(p.waiting(i)) == 0 {
			last = append(last, i)
		}
	}
	return last
}

// Next are the steps that wait for a step: the answer for one that no other waits
// for.
func (p *Plan) Next(step int) []int {
	if next := p.waiting(step); len(next) > 0 {
		return next
	}
	return []int{p.End()}
}

func (p *Plan) waiting(step int) []int {
	var next []int
	for i, s := range p.steps {
		if slices.Contains(s.after, step) {
			next = append(next, i)
		}
	}
	return next
}

// Needed are the tensors of the pool that a step reads, or one that comes after
// it: what has to travel to it. They are sorted.
func (p *Plan) Needed(step int) []string {
	needed := map[string]bool{}
	p.need(step, needed, make([]bool, p.End()+1))
	return slices.Sorted(maps.Keys(needed))
}

func (p *Plan) need(step int, needed map[string]bool, seen []bool) {
	if seen[step] {
		return
	}
	seen[step] = true
	if step == p.End() {
		for _, out := range p.config.GetOutput() {
			needed[out.GetName()] = true
		}
		return
	}
	for _, b := range p.steps[step].inputs {
		needed[b.pool] = true
	}
	for _, next := range p.Next(step) {
		p.need(next, needed, seen)
	}
}
