package modelserver

import (
	"cmp"
	"context"
	"log/slog"
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
	name   string
	number int64
	absent bool // the version policy wants it, but the folder does not have it
	spare  bool // a new version that failed while others serve
	config *inference.ModelConfig
	origin origin // what it was made of
	stats  *Statistics
	logger *slog.Logger

	// Set before v serves, never changed after.
	cache       *responseCache // nil without one
	instruments *instruments

	mu       sync.Mutex
	model    Model
	loadTime time.Duration
	state    State
	reason   string
	holders  int
	idle     chan struct{} // closed when out of service and nobody holds it
	orphan   bool          // nobody waits for idle: the last holder closes the model
}

func newVersion(number int64, cfg *inference.ModelConfig, logger *slog.Logger) *version {
	return &version{
		name: cfg.GetName(), number: number, config: cfg, state: Loading,
		stats: newStatistics(), idle: make(chan struct{}),
		logger: logger.With("model", cfg.GetName(), "version", number),
	}
}

func (v *version) String() string { return strconv.FormatInt(v.number, 10) }

// loaded makes v serve.
func (v *version) loaded(m Model, took time.Duration) {
	v.instruments = newInstruments(v.config, v.String())
	v.mu.Lock()
	defer v.mu.Unlock()
	v.model, v.loadTime, v.state, v.reason = m, took, Ready, remarkOf(m)
}

func remarkOf(m Model) string {
	if r, ok := m.(Remarker); ok {
		return r.Remark()
	}
	return ""
}

func (v *version) failed(reason string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state, v.reason = Unavailable, reason
}

// broken is why v could not be loaded, if so.
func (v *version) broken() (reason string, broken bool) {
	state, reason := v.life()
	return reason, state == Unavailable && reason != Unloaded
}

// note leaves a remark with a version that serves on; an empty one leaves what the
// model itself has to say.
func (v *version) note(remark string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reason = cmp.Or(remark, remarkOf(v.model))
}

// life is the state of v by itself.
func (v *version) life() (State, string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state, v.reason
}

func (v *version) inService() bool {
	state, _ := v.life()
	return state == Ready
}

// status is the state as callers see it: a model that can't serve now, for what
// it leans on is away, is UNAVAILABLE.
func (v *version) status() (State, string) {
	v.mu.Lock()
	state, reason := v.state, v.reason
	probe, ok := v.model.(Prober)
	if !ok || state != Ready {
		v.mu.Unlock()
		return state, reason
	}
	v.holders++
	v.mu.Unlock()
	defer v.release()
	if err := probe.Ready(); err != nil {
		return Unavailable, failure.Message(err)
	}
	return state, reason
}

func (v *version) notReady(state State, reason string) error {
	return failure.New(failure.Unavailable, "model %q version %d is not ready: %s", v.name, v.number, because(state, reason))
}

// hold keeps v from being closed; release must follow. It fails when v is not
// in service.
func (v *version) hold() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != Ready {
		return v.notReady(v.state, v.reason)
	}
	v.holders++
	return nil
}

// holdAgain holds v for one more, who may outlast the caller; the caller holds v.
func (v *version) holdAgain() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.holders++
}

func (v *version) release() {
	v.mu.Lock()
	v.holders--
	last, orphan := v.holders == 0 && v.state != Ready, v.orphan
	v.mu.Unlock()
	switch {
	case last && orphan:
		if err := v.close(); err != nil {
			v.logger.Error("model not closed", "error", err)
		}
	case last:
		close(v.idle)
	}
}

// leave takes v out of service. True makes the caller the one who drains it.
func (v *version) leave() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != Ready {
		return false
	}
	v.state, v.reason = Unloading, Unloaded
	if v.holders == 0 {
		close(v.idle)
	}
	return true
}

// drain waits for the calls that hold v and closes its model. When the context
// ends first, the last call closes it: a session that is freed while it runs
// takes the process with it.
func (v *version) drain(ctx context.Context) error {
	select {
	case <-v.idle:
	case <-ctx.Done():
		v.mu.Lock()
		v.orphan = v.holders > 0
		orphan := v.orphan
		v.mu.Unlock()
		if orphan {
			return failure.Wrap(ctx.Err(), failure.KindOf(ctx.Err()), "model %q version %d still has calls running", v.name, v.number)
		}
	}
	return v.close()
}

func (v *version) close() error {
	v.mu.Lock()
	model := v.model
	v.mu.Unlock()
	err := closeModel(model)
	v.cache.close()
	v.origin.scratch.release()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state, v.model = Unavailable, nil
	return err
}

// pending is how many requests wait in the model's queue.
func (v *version) pending() int {
	if err := v.hold(); err != nil {
		return 0
	}
	defer v.release()
	if p, ok := v.model.(PendingCounter); ok {
		return p.Pending()
	}
	return 0
}

// took is how long the load took.
func (v *version) took() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.loadTime
}

// infer runs one checked request and tells where its time went. The caller
// holds v.
func (v *version) infer(ctx context.Context, req *inference.ModelInferRequest, batch int64) (*inference.ModelInferResponse, Timing, error) {
	if timed, ok := v.model.(TimedModel); ok {
		return timed.InferTimed(ctx, req)
	}
	start := time.Now()
	resp, err := v.model.Infer(ctx, req)
	if err != nil {
		return nil, Timing{}, err // whether it was executed is not known
	}
	return resp, Timing{ComputeInfer: time.Since(start), Batch: int(batch), Executions: 1}, nil
}
