package stages

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"triptych/loadtest/bench/answers"
	"triptych/loadtest/bench/turns"
	"triptych/proto/inference"
	"triptych/shared/oip"
)

// Prepare gives the side of turns that runs the chain of a repository, of which a task
// names the model. The chain is open until the process ends.
func Prepare(ctx context.Context, repository, library string) turns.Prepare {
	return func(task turns.Task) (turns.Work, turns.Prepared, error) {
		p := turns.Prepared{Version: runtime.Version()}
		if task.Kind != turns.Chain {
			return nil, p, fmt.Errorf("there is no work of the kind %q", task.Kind)
		}
		chain, err := Open(ctx, repository, task.Model, library)
		if err != nil {
			return nil, p, err
		}
		requests := make([]*inference.ModelInferRequest, len(task.Files))
		for i, file := range task.Files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, p, err
			}
			requests[i] = answers.Request(task.Model, data)
			resp, err := chain.Infer(ctx, requests[i])
			if err != nil {
				return nil, p, fmt.Errorf("%s: %w", file, err)
			}
			p.Sums = append(p.Sums, Sum(resp))
		}
		return func(n int) error {
			_, err := chain.Infer(ctx, requests[n%len(requests)])
			return err
		}, p, nil
	}
}

// Sum is that of the labels of an answer, by which two sides are compared.
func Sum(resp *inference.ModelInferResponse) string {
	labels, _ := oip.Output(resp, answers.Label)
	return turns.Sum(labels.Data)
}
