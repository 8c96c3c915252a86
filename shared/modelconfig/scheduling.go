package modelconfig

import (
	"maps"
	"slices"
	"strconv"

	"triptych/proto/inference"
)

func (d *Document) checkScheduling() error {
	if e := d.Config.GetEnsembleScheduling(); e != nil || d.Config.GetPlatform() == EnsemblePlatform {
		return d.checkEnsemble(e)
	}
	b := d.Config.GetDynamicBatching()
	if b == nil {
		return nil
	}
	here := place{"dynamic_batching", 0}
	if d.Config.GetMaxBatchSize() == 0 {
		return d.failf([]place{here}, "dynamic_batching needs a max_batch_size of 1 or more, but it is 0: give one, or leave dynamic_batching out")
	}
	for i, size := range b.GetPreferredBatchSize() {
		if size < 1 || size > d.Config.GetMaxBatchSize() {
			return d.failf([]place{here, {"preferred_batch_size", i}}, "preferred_batch_size %d must be from 1 to max_batch_size, which is %d", size, d.Config.GetMaxBatchSize())
		}
	}
	return d.checkPriorities(here, b)
}

func (d *Document) checkPriorities(here place, b *inference.ModelDynamicBatching) error {
	levels := b.GetPriorityLevels()
	if levels > 0 && (b.GetDefaultPriorityLevel() < 1 || b.GetDefaultPriorityLevel() > levels) {
		return d.failf([]place{here, {"default_priority_level", 0}}, "default_priority_level is %d, must be from 1 to priority_levels, which is %d", b.GetDefaultPriorityLevel(), levels)
	}
	for _, level := range slices.Sorted(maps.Keys(b.GetPriorityQueuePolicy())) {
		if level < 1 || level > levels {
			entry := d.where.entry([]place{here}, "priority_queue_policy", strconv.FormatUint(level, 10))
			return d.failf([]place{here, entry}, "priority_queue_policy is for level %d, but priority_levels is %d", level, levels)
		}
		if err := d.checkOrdering(here, b, b.GetPriorityQueuePolicy()[level]); err != nil {
			return err
		}
	}
	if b.GetPreserveOrdering() && levels > 1 {
		return d.failf([]place{here, {"preserve_ordering", 0}}, "preserve_ordering can't go with %d priority_levels", levels)
	}
	return d.checkOrdering(here, b, b.GetDefaultQueuePolicy())
}

// checkOrdering refuses a delayed request behind which others would have to
// wait for their turn.
func (d *Document) checkOrdering(here place, b *inference.ModelDynamicBatching, p *inference.ModelQueuePolicy) error {
	delays := p.GetTimeoutAction() == inference.ModelQueuePolicy_DELAY && (p.GetDefaultTimeoutMicroseconds() > 0 || p.GetAllowTimeoutOverride())
	if b.GetPreserveOrdering() && delays {
		return d.failf([]place{here, {"preserve_ordering", 0}}, "preserve_ordering can't go with a timeout_action of DELAY")
	}
	return nil
}

func (d *Document) checkEnsemble(e *inference.ModelEnsembling) error {
	if e == nil {
		return d.failf([]place{{"platform", 0}}, "platform %q needs ensemble_scheduling", EnsemblePlatform)
	}
	if p := d.Config.GetPlatform(); p != EnsemblePlatform {
		return d.failf([]place{{"ensemble_scheduling", 0}}, "ensemble_scheduling needs the platform %q, it is %q", EnsemblePlatform, p)
	}
	here := place{"ensemble_scheduling", 0}
	if len(e.GetStep()) == 0 {
		return d.failf([]place{here}, "the ensemble has no steps")
	}
	for i, s := range e.GetStep() {
		path := []place{here, {"step", i}}
		switch {
		case s.GetModelName() == "":
			return d.failf(path, "step %d has no model_name", i)
		case s.GetModelName() == d.Config.GetName():
			return d.failf(append(path, place{"model_name", 0}), "step %d is the ensemble itself", i)
		case s.GetModelVersion() == 0 || s.GetModelVersion() < -1:
			return d.failf(append(path, place{"model_version", 0}), "step %d (%s) has the model_version %d, must be 1 or more, or -1 for the latest", i, s.GetModelName(), s.GetModelVersion())
		case len(s.GetInputMap()) == 0:
			return d.failf(path, "step %d (%s) has no input_map", i, s.GetModelName())
		case len(s.GetOutputMap()) == 0:
			return d.failf(path, "step %d (%s) has no output_map", i, s.GetModelName())
		}
	}
	return nil
}
