package search

import (
	"context"
	"fmt"

	"triptych/loadtest/stage"
)

// Capacity is a search for the greatest throughput: a closed loop whose concurrency
// doubles until throughput grows no more.
type Capacity struct {
	// From is the first concurrency, Most the highest that is tried.
	From, Most int
	// Gain is by which part throughput must grow to count as growth.
	Gain float64
	// Stage is run at each concurrency.
	Stage stage.Stage
}

// Limit is what a search for a capacity has found.
type Limit struct {
	// Throughput is the greatest, in answers a second.
	Throughput float64
	// Knee is the step with the least concurrency that comes within the gain of it:
	// more callers only wait longer.
	Knee Step
	// Steps are all, in their order.
	Steps []Step
	// Grew is set when throughput still grew at the highest concurrency.
	Grew        bool
	Interrupted bool
}

// patience is how many steps in a row may bring no growth: batches may need more
// callers to fill.
const patience = 2

// Search runs the steps, and tells each as it is done.
func (c Capacity) Search(ctx context.Context, run Run, each func(Step)) Limit {
	var l Limit
	flat := 0
	for n := c.From; n <= c.Most && flat < patience; n *= 2 {
		s := c.Stage
		s.Name, s.Concurrency = fmt.Sprintf("%d in flight", n), n
		result := run(ctx, s)
		if ctx.Err() != nil {
			l.Interrupted = true
			break
		}
		step := Step{Load: float64(n), Result: result}
		got := result.Result.Throughput()
		step.Kept = got > l.Throughput*(1+c.Gain)
		flat++
		if step.Kept {
			flat = 0
		} else {
			step.Why = "throughput grew no more"
		}
		l.Throughput = max(l.Throughput, got)
		l.Steps = append(l.Steps, step)
		each(step)
	}
	l.Grew = flat == 0
	l.knee(c.Gain)
	return l
}

func (l *Limit) knee(gain float64) {
	for _, s := range l.Steps {
		if s.Result.Result.Throughput()*(1+gain) >= l.Throughput {
			l.Knee = s
			return
		}
	}
}
