package worker

import (
	"triptych/proto/inference"
	"triptych/shared/stream"
)

// maxSlots bounds the slots that a model gets by itself.
const maxSlots = 64

// slotsOf is how many tasks of a model may run at once. One that batches gets two
// batches for each instance, so that the next is there when one ends; what runs on
// the processor gets what keeps it busy while others are on their way. A slot is
// added for each level on which nothing may be waiting.
func slotsOf(cfg *inference.ModelConfig, processors int) int {
	if cfg.GetDynamicBatching() != nil && cfg.GetMaxBatchSize() > 1 {
		instances := int32(0)
		for _, g := range cfg.GetInstanceGroup() {
			instances += max(g.GetCount(), 1)
		}
		return min(2*int(max(instances, 1))*int(cfg.GetMaxBatchSize()), maxSlots)
	}
	return min(2*processors+stream.Levels-1, maxSlots)
}

// maxAhead bounds the tasks that are held beyond those that may run.
const maxAhead = 12

// ahead is how many tasks are held where so many may run: while one is being
// fetched, or what follows from it is being stored, another runs in its place.
func ahead(running int) int { return running + min(running, maxAhead) }

// slots is how many tasks of a model may run at once.
func (d *Door) slots(model string) int {
	if d.cfg.Slots > 0 {
		return d.cfg.Slots
	}
	cfg, err := d.models.Config(model)
	if err != nil { // it has just gone: the puller soon goes too
		return 1
	}
	return slotsOf(cfg, d.processors)
}
