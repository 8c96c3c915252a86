package ours

import (
	"context"

	"triptych/loadtest/bench/turns"
	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

// compare tells by how much a model's pixels differ from those of a model that
// decodes every pixel.
func compare(p *turns.Prepared, task turns.Task, m modelserver.Model, requests []*inference.ModelInferRequest) error {
	task.Scaled = false
	exact, err := load(task)
	if err != nil {
		return err
	}
	sum, count := 0, 0
	for _, req := range requests {
		got, err := tensorOf(m, req)
		if err != nil {
			return err
		}
		want, err := tensorOf(exact, req)
		if err != nil {
			return err
		}
		for i := range want {
			d := max(int(got[i]), int(want[i])) - min(int(got[i]), int(want[i]))
			p.Difference, sum, count = max(p.Difference, d), sum+d, count+1
		}
	}
	p.Mean = float64(sum) / float64(max(count, 1))
	return nil
}

func tensorOf(m modelserver.Model, req *inference.ModelInferRequest) ([]byte, error) {
	resp, err := m.Infer(context.Background(), req)
	if err != nil {
		return nil, err
	}
	out, _ := oip.Output(resp, Output)
	return out.Data, nil
}
