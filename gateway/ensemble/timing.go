package ensemble

import (
	"sync"
	"time"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/pipeline"
)

func stepTiming(resp *inference.ModelInferResponse, total time.Duration) pipeline.StepTiming {
	micros := func(key string) time.Duration {
		// A server that is not ours tells no times, which counts as 0.
		n, _ := oip.IntParameter(resp.GetParameters(), key, 0)
		return time.Duration(n) * time.Microsecond
	}
	return pipeline.StepTiming{
		Model: resp.GetModelName(), Version: resp.GetModelVersion(), Total: total,
		Queue: micros(modelserver.QueueParameter), Compute: micros(modelserver.ComputeParameter),
	}
}

// timings sums what the steps of one request took. Steps may run side by side.
type timings struct {
	mu             sync.Mutex
	queue, compute time.Duration
}

func (t *timings) add(s pipeline.StepTiming) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue += s.Queue
	t.compute += s.Compute
}

func (t *timings) timing(batch int) modelserver.Timing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return modelserver.Timing{Queue: t.queue, ComputeInfer: t.compute, Batch: batch, Executions: 1}
}
