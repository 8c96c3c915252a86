package measure

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
)

// Overhead is the processor time of an image in the service, and of the model alone.
type Overhead struct {
	Service, Function time.Duration
}

// Added is what the service adds to the model.
func (o Overhead) Added() time.Duration { return o.Service - o.Function }

// Overhead measures, so many rounds in turn, a request of one image sent to the
// service and given to the same model in this process, each by so many callers at
// once. It is the round whose difference is in the middle.
func (s *Service) Overhead(ctx context.Context, m modelserver.Model, request *inference.ModelInferRequest, callers, calls, rounds int) (Overhead, error) {
	all := make([]Overhead, rounds)
	for i := range all {
		got, err := s.Load(ctx, []*inference.ModelInferRequest{request}, callers, calls)
		if err != nil {
			return Overhead{}, err
		}
		all[i].Service = got.CPUPerCall()
		if all[i].Function, err = function(ctx, m, request, callers, calls); err != nil {
			return Overhead{}, err
		}
	}
	slices.SortFunc(all, func(a, b Overhead) int { return int(a.Added() - b.Added()) })
	return all[rounds/2], nil
}

// function is the processor time of one call of a model in this process.
func function(ctx context.Context, m modelserver.Model, request *inference.ModelInferRequest, callers, calls int) (time.Duration, error) {
	before, err := Own()
	if err != nil {
		return 0, err
	}
	var next atomic.Int64
	var failed error
	var once sync.Once
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for next.Add(1) <= int64(calls) {
				if _, err := m.Infer(ctx, request); err != nil {
					once.Do(func() { failed = err })
					return
				}
			}
		})
	}
	wg.Wait()
	after, err := Own()
	if failed != nil {
		err = failed
	}
	return (after - before) / time.Duration(calls), err
}
