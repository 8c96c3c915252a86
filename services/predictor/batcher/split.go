package batcher

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

// oversize tells whether a request has more rows than fit into a batch.
func oversize(req *inference.ModelInferRequest, most int) bool {
	return most > 0 && len(req.GetInputs()) > 0 && len(req.GetInputs()[0].GetShape()) > 0 && req.GetInputs()[0].GetShape()[0] > int64(most)
}

// split runs a request of more rows than fit into a batch in parts, side by
// side, and joins their answers in order. When a part fails, so does the request.
func (b *Batcher) split(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	parts, err := partsOf(req, int64(b.cfg.MaxBatchSize))
	if err != nil {
		return nil, modelserver.Timing{}, err
	}
	responses := make([]*inference.ModelInferResponse, len(parts))
	timings := make([]modelserver.Timing, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	for i, part := range parts {
		group.Go(func() (err error) {
			responses[i], timings[i], err = b.Do(ctx, part)
			return err
		})
	}
	err = group.Wait()
	timing := longest(timings)
	if err != nil {
		return nil, timing, err
	}
	return join(responses), timing, nil
}

// partsOf cuts a request along the first dimension. The data of the parts are
// slices of the request's.
func partsOf(req *inference.ModelInferRequest, most int64) ([]*inference.ModelInferRequest, error) {
	total := req.GetInputs()[0].GetShape()[0]
	parts := make([]*inference.ModelInferRequest, (total+most-1)/most)
	for i := range parts {
		parts[i] = &inference.ModelInferRequest{Parameters: req.GetParameters()}
	}
	for n, in := range req.GetInputs() {
		if len(in.GetShape()) == 0 || in.GetShape()[0] != total {
			return nil, failure.New(failure.Invalid, "input %q has shape %s, but the batch is %d", in.GetName(), oip.FormatShape(in.GetShape()), total)
		}
		whole, err := newCutter(oip.Tensor{Name: in.GetName(), Datatype: in.GetDatatype(), Shape: in.GetShape(), Data: req.GetRawInputContents()[n]}, int(total))
		if err != nil {
			return nil, err
		}
		for i, part := range parts {
			rows := min(most, total-int64(i)*most)
			data, err := whole.next(int(rows))
			if err != nil {
				return nil, failure.New(failure.Invalid, "input %q has too few bytes for shape %s", in.GetName(), oip.FormatShape(in.GetShape()))
			}
			shape := slices.Clone(in.GetShape())
			shape[0] = rows
			oip.AddInput(part, oip.Tensor{Name: in.GetName(), Datatype: in.GetDatatype(), Shape: shape, Data: data})
		}
	}
	return parts, nil
}

// join puts the parts' rows together.
func join(parts []*inference.ModelInferResponse) *inference.ModelInferResponse {
	whole := &inference.ModelInferResponse{}
	for n, out := range parts[0].GetOutputs() {
		shape := slices.Clone(out.GetShape())
		shape[0] = 0
		size := 0
		for _, p := range parts {
			shape[0] += p.GetOutputs()[n].GetShape()[0]
			size += len(p.GetRawOutputContents()[n])
		}
		data := make([]byte, 0, size)
		for _, p := range parts {
			data = append(data, p.GetRawOutputContents()[n]...)
		}
		oip.AddOutput(whole, oip.Tensor{Name: out.GetName(), Datatype: out.GetDatatype(), Shape: shape, Data: data})
	}
	return whole
}

// longest is the timing of the part that took longest, with the executions of
// all.
func longest(parts []modelserver.Timing) modelserver.Timing {
	var slowest modelserver.Timing
	executions := 0
	for _, t := range parts {
		executions += t.Executions
		if t.Queue+t.Compute() > slowest.Queue+slowest.Compute() {
			slowest = t
		}
	}
	slowest.Executions = executions
	return slowest
}
