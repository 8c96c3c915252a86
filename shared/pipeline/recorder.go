// Package pipeline compiles the graph of an ensemble into a checked plan and
// runs the plan. It does not know where a step is served: whoever runs a plan
// gives it a way to call one.
package pipeline

import (
	"context"
	"sync"
	"time"
)

// StepTiming is where the time of one step of one request went.
type StepTiming struct {
	Model   string
	Version string
	// Backend is what runs the step, such as "image" or "onnxruntime".
	Backend string
	// Queue and Compute are what the step's server said.
	Queue, Compute time.Duration
	// Total is what the caller of the step saw, the way there and back included.
	Total time.Duration
}

// Recorder collects the timings of the steps that one request runs. Safe for
// concurrent use.
type Recorder struct {
	mu    sync.Mutex
	steps []StepTiming
}

type recorderKey struct{}

// WithRecorder makes every step that is run under the context be recorded in r.
func WithRecorder(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// Record is called by whoever runs a step, when the step has been answered. It
// does nothing when nobody listens.
func Record(ctx context.Context, s StepTiming) {
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, s)
}

// Steps is what has been reported so far, in the order in which steps ended.
func (r *Recorder) Steps() []StepTiming {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]StepTiming(nil), r.steps...)
}
