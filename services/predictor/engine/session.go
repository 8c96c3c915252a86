package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Session is one loaded version of a model, on one device or on several. Run may
// be called concurrently.
type Session struct {
	model    string
	contract *contract
	asked    string
	remark   string
	logger   *slog.Logger
	replicas []*replica
	traffic  *traffic
	usage    *usage
	close    sync.Once

	mu   sync.Mutex
	next int // the replica that is looked at first
}

func (s *Session) log(ignored []string) {
	for _, r := range s.replicas {
		s.logger.Info("model session opened", "device", r.device.String(), "device_asked", s.asked, "execution_provider", r.device.Provider(),
			"instances", r.tuning.instances, "intra_op_threads", r.tuning.intra, "cores", Cores(), "wide", r.wide != nil)
	}
	if s.remark != "" {
		s.logger.Warn("model runs on another device than was asked for", "remark", s.remark)
	}
	for _, setting := range ignored {
		s.logger.Warn("setting has no effect", "setting", setting)
	}
}

// Asked is the device that was asked for, such as "auto" or "cuda:0".
func (s *Session) Asked() string { return s.asked }

// Remark says why the session does not run where it was asked to, if so.
func (s *Session) Remark() string { return s.remark }

// Device is where the session runs; with several devices, the first.
func (s *Session) Device() Device { return s.replicas[0].device }

// Devices are all devices that the session runs on.
func (s *Session) Devices() []Device {
	devices := make([]Device, 0, len(s.replicas))
	for _, r := range s.replicas {
		devices = append(devices, r.device)
	}
	return devices
}

func (s *Session) deviceNames() []string {
	names := make([]string, 0, len(s.replicas))
	for _, r := range s.replicas {
		names = append(names, r.device.String())
	}
	return names
}

// Providers are the runtime's names for what runs the session, each once.
func (s *Session) Providers() []string {
	providers := make([]string, 0, len(s.replicas))
	for _, r := range s.replicas {
		providers = append(providers, r.device.Provider())
	}
	return unique(providers)
}

// Instances is how many runs at once suit the session, on all devices together.
func (s *Session) Instances() int {
	n := 0
	for _, r := range s.replicas {
		n += r.tuning.instances
	}
	return n
}

// Threads is the number of threads that work on one operator.
func (s *Session) Threads() int { return s.replicas[0].tuning.intra }

// WideThreads is the number of threads of one operator of a run that is alone,
// where the model has a wide session for such runs; else 0.
func (s *Session) WideThreads() int {
	for _, r := range s.replicas {
		if r.wide != nil {
			return r.wide.tuning.intra
		}
	}
	return 0
}

// Close frees the session. No run may be going on. It may be called more than
// once.
func (s *Session) Close() error {
	var err error
	s.close.Do(func() {
		for _, r := range s.replicas {
			err = errors.Join(err, r.close())
		}
		trim()
	})
	return err
}

// Run runs one batch on the device that has the least to do. The inputs are only
// read; the outputs are memory of their own, in the order of the configuration.
// When ctx ends the run is stopped. The span in ctx learns which device it was.
func (s *Session) Run(ctx context.Context, inputs []oip.Tensor) ([]oip.Tensor, error) {
	outputs, _, err := s.RunTimed(ctx, inputs)
	return outputs, err
}

// RunTimed is Run, and tells how much processor time the run took where one thread did
// all of it; else 0.
func (s *Session) RunTimed(ctx context.Context, inputs []oip.Tensor) (outputs []oip.Tensor, work time.Duration, err error) {
	r := s.take()
	defer s.release(r)
	return s.runOn(ctx, r, inputs)
}

// tell notes in the span of a run where it is.
func (s *Session) tell(ctx context.Context, r *replica) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(attribute.String("triptych.device", r.device.String()), attribute.String("triptych.execution_provider", r.device.Provider()),
			attribute.String("triptych.device.requested", s.asked), attribute.Int("triptych.intra_op_threads", r.tuning.intra))
	}
}

// take is the replica with the fewest runs for its instances. Among equals they
// take turns.
func (s *Session) take() *replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best *replica
	for i := range s.replicas {
		r := s.replicas[(s.next+i)%len(s.replicas)]
		if best == nil || r.running*best.tuning.instances < best.running*r.tuning.instances {
			best = r
		}
	}
	s.next = (s.next + 1) % len(s.replicas)
	best.running++
	return best
}

func (s *Session) release(r *replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.running--
}

// run can leave the memory of all outputs to the runtime, for the probe, which
// wants to see which shapes come by themselves.
func (s *Session) run(ctx context.Context, r *replica, inputs []oip.Tensor, preallocate bool) (outputs []oip.Tensor, work time.Duration, err error) {
	slot, err := r.begin()
	if err != nil {
		return nil, 0, err
	}
	defer r.end(slot)
	batch, err := slot.fill(s.contract, inputs, preallocate)
	if err != nil {
		return nil, 0, err
	}
	work, err = r.run(ctx, slot)
	if err != nil {
		return nil, 0, s.failed(ctx, r, batch, err)
	}
	outputs, err = slot.results(s.contract, batch)
	return outputs, work, err
}

// failed classifies the error of a run. What the runtime says is for logs.
func (s *Session) failed(ctx context.Context, r *replica, batch int64, err error) error {
	if gone := failure.OfContext(ctx); gone != nil {
		return gone
	}
	if wantsMemory(err) {
		r.tide.now()
		return failure.Wrap(memoryError{err}, failure.Internal, "model %q has not enough memory on %s for a batch of %d", s.model, r.device, batch)
	}
	return failure.Wrap(err, failure.Internal, "model %q failed", s.model)
}

func named(tensors []oip.Tensor, name string) (oip.Tensor, bool) {
	for _, t := range tensors {
		if t.Name == name {
			return t, true
		}
	}
	return oip.Tensor{}, false
}
