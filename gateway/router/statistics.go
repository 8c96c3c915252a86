package router

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"triptych/proto/inference"
)

// ModelStatistics joins what every replica of every upstream counted with the
// gateway's own counts. Replicas that are away are left out.
func (r *Router) ModelStatistics(ctx context.Context, req *inference.ModelStatisticsRequest) (*inference.ModelStatisticsResponse, error) {
	name := req.GetName()
	if name != "" && r.mine(name) {
		return r.service.ModelStatistics(ctx, req)
	}
	if name != "" {
		if err := r.unknown(name); err != nil {
			return nil, err
		}
	}
	sum := &statisticsSum{}
	if name == "" {
		own, err := r.service.ModelStatistics(ctx, req)
		if err != nil {
			return nil, err
		}
		sum.add(own.GetModelStats())
	}
	err := r.fleet.AskEach(ctx, name, func(ctx context.Context, c client) error {
		resp, err := c.ModelStatistics(ctx, req)
		sum.add(resp.GetModelStats())
		return err
	})
	if err != nil && name != "" {
		return nil, err
	}
	return &inference.ModelStatisticsResponse{ModelStats: sum.sorted()}, nil
}

// statisticsSum adds up the statistics of replicas by model and version.
type statisticsSum struct {
	mu     sync.Mutex
	models []*inference.ModelStatistics
}

func (s *statisticsSum) add(models []*inference.ModelStatistics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range models {
		i := slices.IndexFunc(s.models, func(k *inference.ModelStatistics) bool {
			return k.GetName() == m.GetName() && k.GetVersion() == m.GetVersion()
		})
		if i < 0 {
			s.models = append(s.models, m)
			continue
		}
		merge(s.models[i], m)
	}
}

func (s *statisticsSum) sorted() []*inference.ModelStatistics {
	slices.SortFunc(s.models, func(a, b *inference.ModelStatistics) int {
		// Versions are numbers without leading zeros: the longer is the higher.
		return cmp.Or(
			strings.Compare(a.GetName(), b.GetName()),
			cmp.Compare(len(a.GetVersion()), len(b.GetVersion())),
			strings.Compare(a.GetVersion(), b.GetVersion()),
		)
	})
	return s.models
}

func merge(into, from *inference.ModelStatistics) {
	into.LastInference = max(into.LastInference, from.LastInference)
	into.InferenceCount += from.InferenceCount
	into.ExecutionCount += from.ExecutionCount
	a, b := into.GetInferenceStats(), from.GetInferenceStats()
	mergeDuration(a.GetSuccess(), b.GetSuccess())
	mergeDuration(a.GetFail(), b.GetFail())
	mergeDuration(a.GetQueue(), b.GetQueue())
	mergeDuration(a.GetComputeInput(), b.GetComputeInput())
	mergeDuration(a.GetComputeInfer(), b.GetComputeInfer())
	mergeDuration(a.GetComputeOutput(), b.GetComputeOutput())
	mergeDuration(a.GetCacheHit(), b.GetCacheHit())
	mergeDuration(a.GetCacheMiss(), b.GetCacheMiss())
	for _, batch := range from.GetBatchStats() {
		mergeBatch(into, batch)
	}
}

func mergeDuration(into, from *inference.StatisticDuration) {
	if into == nil || from == nil {
		return
	}
	into.Count += from.GetCount()
	into.Ns += from.GetNs()
}

func mergeBatch(into *inference.ModelStatistics, batch *inference.InferBatchStatistics) {
	for _, b := range into.GetBatchStats() {
		if b.GetBatchSize() == batch.GetBatchSize() {
			mergeDuration(b.GetComputeInput(), batch.GetComputeInput())
			mergeDuration(b.GetComputeInfer(), batch.GetComputeInfer())
			mergeDuration(b.GetComputeOutput(), batch.GetComputeOutput())
			return
		}
	}
	into.BatchStats = append(into.BatchStats, batch)
	slices.SortFunc(into.BatchStats, func(a, b *inference.InferBatchStatistics) int { return int(a.GetBatchSize()) - int(b.GetBatchSize()) })
}
