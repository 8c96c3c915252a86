package modelserver

import (
	"context"
	"strconv"
	"sync"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// State is where a version is in its life, by Triton's names.
type State string

// The states of the repository index.
const (
	Unknown     State = "UNKNOWN"
	Loading     State = "LOADING"
	Ready       State = "READY"
	Unloading   State = "UNLOADING"
	Unavailable State = "UNAVAILABLE"
)

// Unloaded is the reason of a version that was taken out of service on purpose.
const Unloaded = "unloaded"

// version is one version of a model. A version that is READY has a model; calls
// hold it while they run, so that it is closed only when none is left.
type version struct {
	number   int64
	config   *inference.ModelConfig
	loadTime time.Duration
	stats    *Statistics
	model    Model

	mu      sync.Mutex
	state   State
	reason  string
	holders int
	idle    chan struct{} // closed when retired and nobody holds it
}

func newVersion(number int64, cfg *inference.ModelConfig) *version {
	return &version{number: number, config: cfg, state: Loading, stats: newStatistics(), idle: make(chan struct{})}
}

func (v *version) String() string { return strconv.FormatInt(v.number, 10) }

// loaded makes v serve.
func (v *version) loaded(m Model, took time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.model, v.loadTime, v.state, v.reason = m, took, Ready, ""
}

func (v *version) failed(reason string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state, v.reason = Unavailable, reason
}

// status is the state as callers see it: a model that can't serve now, for what
// it leans on is away, is UNAVAILABLE.
func (v *version) status() (State, string) {
	v.mu.Lock()
	state, reason, model := v.state, v.reason, v.model
	v.mu.Unlock()
	if p, ok := model.(Prober); ok && state == Ready {
		if err := p.Ready(); err != nil {
			return Unavailable, failure.Message(err)
		}
	}
	return state, reason
}

// hold keeps v from being closed; release must follow. It fails when v does not
// serve.
func (v *version) hold() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != Ready {
		reason := v.reason
		if reason == "" {
			reason = "it is " + string(v.state)
		}
		return failure.New(failure.Unavailable, "model %q version %d is not ready: %s", v.config.GetName(), v.number, reason)
	}
	v.holders++
	return nil
}

func (v *version) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.holders--
	if v.holders == 0 && v.state != Ready {
		close(v.idle)
	}
}

// retire takes v out of service, waits for the calls that hold it and closes its
// model. When the context ends first the model is not closed: a session that is
// freed while it runs takes the process with it.
func (v *version) retire(ctx context.Context) error {
	v.mu.Lock()
	if v.state != Ready {
		v.mu.Unlock()
		return nil
	}
	v.state, v.reason = Unloading, Unloaded
	if v.holders == 0 {
		close(v.idle)
	}
	v.mu.Unlock()
	select {
	case <-v.idle:
	case <-ctx.Done():
		return failure.Wrap(ctx.Err(), failure.Deadline, "model %q version %d still had calls running", v.config.GetName(), v.number)
	}
	err := v.model.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state = Unavailable
	return err
}

// pending is how many requests wait in the model's queue.
func (v *version) pending() int {
	v.mu.Lock()
	model := v.model
	v.mu.Unlock()
	if p, ok := model.(PendingCounter); ok {
		return p.Pending()
	}
	return 0
}

// infer runs one checked request and tells where its time went.
func (v *version) infer(ctx context.Context, req *inference.ModelInferRequest, batch int64) (*inference.ModelInferResponse, Timing, error) {
	if timed, ok := v.model.(TimedModel); ok {
		return timed.InferTimed(ctx, req)
	}
	start := time.Now()
	resp, err := v.model.Infer(ctx, req)
	return resp, Timing{ComputeInfer: time.Since(start), Batch: int(batch), Executions: 1}, err
}
