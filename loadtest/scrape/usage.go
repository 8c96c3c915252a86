package scrape

import (
	"cmp"
	"slices"
	"time"

	"triptych/loadtest/page"
	"triptych/proto/inference"
)

// Usage is what happened between two snapshots.
type Usage struct {
	// Steps are the models that had requests: first ensembles, then their steps in
	// order, then others.
	Steps []page.Step
	// Batches are those of models that ran any larger than 1, or more than one size.
	Batches  []page.Batches
	Services []page.Service
	Notes    []string
}

// Fill tells a run of it.
func (u Usage) Fill(run *page.Run) {
	run.Steps, run.Batches, run.Services = u.Steps, u.Batches, u.Services
	run.Notes = append(run.Notes, u.Notes...)
}

// Since is what happened since an earlier snapshot of the same probe.
func (s *Snapshot) Since(before *Snapshot) Usage {
	u := Usage{Notes: slices.Concat(before.notes, s.notes)}
	for key, now := range s.models {
		then := before.models[key]
		if reset(then, now) {
			u.Notes = append(u.Notes, "Model "+key.name+" version "+key.version+" was loaded again during the run: what it did before is not counted.")
			then = nil
		}
		step, ok := stepOf(now, then, len(s.ensembles[key.name]) > 0)
		if !ok {
			continue
		}
		u.Steps = append(u.Steps, step)
		if sizes := sizesOf(now, then); !step.Ensemble && (len(sizes) > 1 || len(sizes) == 1 && sizes[0].Size > 1) {
			u.Batches = append(u.Batches, page.Batches{Model: key.name, Version: key.version, Sizes: sizes})
		}
	}
	slices.SortFunc(u.Steps, func(a, b page.Step) int {
		return cmp.Or(cmp.Compare(s.place(a.Model), s.place(b.Model)), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Version, b.Version))
	})
	slices.SortFunc(u.Batches, func(a, b page.Batches) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Version, b.Version))
	})
	u.addWaits(before.processes, s.processes)
	u.addServices(before.processes, s.processes)
	slices.Sort(u.Notes)
	u.Notes = slices.Compact(u.Notes)
	return u
}

// last is the place of models that belong to no ensemble.
const last = 1 << 20

// place orders models: ensembles, their steps in order, others.
func (s *Snapshot) place(model string) int {
	if len(s.ensembles[model]) > 0 {
		return 0
	}
	place := last
	for _, steps := range s.ensembles {
		if i := slices.Index(steps, model); i >= 0 {
			place = min(place, i+1)
		}
	}
	return place
}

// reset tells whether a model has begun to count anew.
func reset(then, now *inference.ModelStatistics) bool {
	was, is := then.GetInferenceStats(), now.GetInferenceStats()
	return is.GetSuccess().GetCount() < was.GetSuccess().GetCount() || is.GetFail().GetCount() < was.GetFail().GetCount() ||
		now.GetExecutionCount() < then.GetExecutionCount() || is.GetSuccess().GetNs() < was.GetSuccess().GetNs()
}

// stepOf is what a model did; false when it had no requests.
func stepOf(now, then *inference.ModelStatistics, ensemble bool) (page.Step, bool) {
	is, was := now.GetInferenceStats(), then.GetInferenceStats()
	success := since(is.GetSuccess(), was.GetSuccess())
	failed := since(is.GetFail(), was.GetFail())
	compute := since(is.GetComputeInput(), was.GetComputeInput()).mean() +
		since(is.GetComputeInfer(), was.GetComputeInfer()).mean() + since(is.GetComputeOutput(), was.GetComputeOutput()).mean()
	return page.Step{
		Model: now.GetName(), Version: now.GetVersion(), Ensemble: ensemble,
		Requests: success.count, Failed: failed.count,
		CacheHits:  since(is.GetCacheHit(), was.GetCacheHit()).count,
		Runs:       int64(now.GetExecutionCount() - then.GetExecutionCount()),
		Inferences: int64(now.GetInferenceCount() - then.GetInferenceCount()),
		Queue:      since(is.GetQueue(), was.GetQueue()).mean(), Compute: compute, Total: success.mean(),
	}, success.count+failed.count > 0
}

// span is a count and a sum.
type span struct {
	count int64
	sum   time.Duration
}

// since is what was added to a count that does not go back.
func since(now, then *inference.StatisticDuration) span {
	return spanOf(now).since(spanOf(then))
}

func spanOf(d *inference.StatisticDuration) span {
	return span{int64(d.GetCount()), time.Duration(d.GetNs())}
}

// since is what was added; all of it where counting has begun anew.
func (s span) since(then span) span {
	if s.count < then.count || s.sum < then.sum {
		return s
	}
	return span{s.count - then.count, s.sum - then.sum}
}

func (s span) plus(other span) span { return span{s.count + other.count, s.sum + other.sum} }

func (s span) mean() time.Duration {
	if s.count == 0 {
		return 0
	}
	return s.sum / time.Duration(s.count)
}

// sizesOf are the sizes of the batches that were run, the smallest first.
func sizesOf(now, then *inference.ModelStatistics) []page.BatchSize {
	was := map[uint64]*inference.StatisticDuration{}
	for _, b := range then.GetBatchStats() {
		was[b.GetBatchSize()] = b.GetComputeInfer()
	}
	var sizes []page.BatchSize
	for _, b := range now.GetBatchStats() {
		if n := since(b.GetComputeInfer(), was[b.GetBatchSize()]).count; n > 0 {
			sizes = append(sizes, page.BatchSize{Size: int64(b.GetBatchSize()), Count: n})
		}
	}
	slices.SortFunc(sizes, func(a, b page.BatchSize) int { return cmp.Compare(a.Size, b.Size) })
	return sizes
}

// addServices takes the processes that told both times, and were the same.
func (u *Usage) addServices(before, after []process) {
	for i, now := range after {
		if i >= len(before) || !now.known || !before[i].known {
			continue
		}
		then := before[i]
		if now.started != then.started || now.cpu < then.cpu {
			u.Notes = append(u.Notes, now.name+" was started again during the run: its processor time and memory are not told.")
			continue
		}
		u.Services = append(u.Services, page.Service{Name: now.name, CPU: now.cpu - then.cpu, MemoryBefore: then.memory, MemoryAfter: now.memory})
	}
}
