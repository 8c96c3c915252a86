package engine

import (
	"context"
	"log/slog"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Settings are what the service, not the model, says about sessions.
type Settings struct {
	// Device is where models run that do not say it themselves.
	Device Device
	// IntraOpThreads is the number of threads of one operator when the model
	// does not say; 0 shares the cores.
	IntraOpThreads int
	// Logger gets what was chosen.
	Logger *slog.Logger
}

// Session is one loaded version of a model. Run may be called concurrently.
type Session struct {
	model    string
	contract *contract
	tuning   tuning
	device   Device
	asked    Device
	logger   *slog.Logger
	session  *ort.DynamicAdvancedSession
	close    sync.Once
}

// Load makes a session of the model file in directory, checks it against its
// configuration and runs it once. Every error says what is wrong with which.
func (l *Library) Load(ctx context.Context, cfg *inference.ModelConfig, directory string, settings Settings) (*Session, error) {
	if err := supported(cfg); err != nil {
		return nil, err
	}
	file, err := modelFile(cfg, directory)
	if err != nil {
		return nil, err
	}
	where, err := place(cfg, settings.Device)
	if err != nil {
		return nil, err
	}
	g, err := readGraph(cfg, file)
	if err != nil {
		return nil, err
	}
	c, err := agree(cfg, g)
	if err != nil {
		return nil, err
	}
	logger := settings.Logger.With("model", cfg.GetName())
	open := func(d Device) (*Session, error) {
		t, err := tune(cfg, placement{device: d, count: where.count}, settings.IntraOpThreads)
		if err != nil {
			return nil, err
		}
		s := &Session{model: cfg.GetName(), contract: c, tuning: t, device: d, asked: settings.Device, logger: logger}
		return s, s.open(ctx, cfg, file)
	}
	s, err := choose(where.device, open, logger)
	if err != nil {
		return nil, err
	}
	s.log()
	return s, nil
}

// choose opens the session on the device that was asked for. For auto that is
// the GPU when a run on it works: that a provider is there does not prove it.
func choose(d Device, open func(Device) (*Session, error), logger *slog.Logger) (*Session, error) {
	if d.Kind != Auto {
		return open(d)
	}
	s, err := open(Device{Kind: CUDA, ID: d.ID})
	if err == nil {
		return s, nil
	}
	logger.Debug("no GPU is used", "device", Auto, "reason", failure.Message(err))
	return open(Device{Kind: CPU})
}

// supported refuses kinds of scheduling that would otherwise be ignored.
func supported(cfg *inference.ModelConfig) error {
	switch {
	case cfg.GetSequenceBatching() != nil:
		return failure.New(failure.Unsupported, "model %q: sequence_batching is not supported", cfg.GetName())
	case cfg.GetModelTransactionPolicy().GetDecoupled():
		return failure.New(failure.Unsupported, "model %q: decoupled models are not supported", cfg.GetName())
	case len(cfg.GetBatchInput()) > 0 || len(cfg.GetBatchOutput()) > 0:
		return failure.New(failure.Unsupported, "model %q: batch_input and batch_output are not supported", cfg.GetName())
	}
	return nil
}

// open makes the runtime's session and proves that it runs.
func (s *Session) open(ctx context.Context, cfg *inference.ModelConfig, file string) error {
	options, err := s.tuning.sessionOptions(cfg, s.device)
	if err != nil {
		return err
	}
	defer discard(options)
	s.session, err = ort.NewDynamicAdvancedSession(file, tensorNames(s.contract.inputs), tensorNames(s.contract.outputs), options)
	if err != nil {
		return unreadable(cfg, file, err)
	}
	if err := s.probe(ctx, int64(cfg.GetMaxBatchSize())); err != nil {
		_ = s.Close()
		return err
	}
	return nil
}

func (s *Session) log() {
	s.logger.Info("model session opened", "device", s.device.String(), "device_asked", s.asked.String(), "execution_provider", s.device.Provider(),
		"instances", s.tuning.instances, "intra_op_threads", s.tuning.intra, "cores", Cores())
	for _, key := range s.tuning.ignored {
		s.logger.Warn("setting has no effect", "setting", key)
	}
}

// Device is where the session runs.
func (s *Session) Device() Device { return s.device }

// Instances is how many runs at once suit the session.
func (s *Session) Instances() int { return s.tuning.instances }

// Threads is the number of threads that work on one operator.
func (s *Session) Threads() int { return s.tuning.intra }

// Close frees the session. No run may be going on. It may be called more than
// once.
func (s *Session) Close() error {
	var err error
	s.close.Do(func() {
		err = s.session.Destroy()
		trim()
	})
	return err
}

// Run runs one batch. The inputs are only read; the outputs are memory of their
// own, in the order of the configuration. When ctx ends the run is stopped.
func (s *Session) Run(ctx context.Context, inputs []oip.Tensor) ([]oip.Tensor, error) {
	return s.run(ctx, inputs, true)
}

// run can leave the memory of all outputs to the runtime, for the probe, which
// wants to see which shapes come by themselves.
func (s *Session) run(ctx context.Context, inputs []oip.Tensor, preallocate bool) ([]oip.Tensor, error) {
	var v values
	defer v.destroy()
	batch := int64(1)
	for _, want := range s.contract.inputs {
		in, ok := named(inputs, want.name)
		if !ok {
			return nil, failure.New(failure.Invalid, "input %q is missing", want.name)
		}
		if s.contract.batching {
			batch = in.Shape[0]
		}
		if err := v.input(want, in); err != nil {
			return nil, err
		}
	}
	for _, out := range s.contract.outputs {
		if err := v.output(s.contract, out, batch, preallocate && out.preallocated(s.contract.batching)); err != nil {
			return nil, err
		}
	}
	if err := s.runValues(ctx, &v); err != nil {
		return nil, err
	}
	return v.results(s.contract)
}

// runValues is the call into the runtime. It ends early when ctx does: the
// runtime looks between two operators.
func (s *Session) runValues(ctx context.Context, v *values) error {
	if err := failure.OfContext(ctx); err != nil {
		return err
	}
	if ctx.Done() == nil {
		return s.failed(ctx, s.session.Run(v.in, v.out))
	}
	options, err := ort.NewRunOptions()
	if err != nil {
		return s.failed(ctx, err)
	}
	defer discard(options)
	stopped := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(stopped)
		// An error here means that the run goes on to its end.
		_ = options.Terminate()
	})
	// Deferred, for the options must not be freed under Terminate when the
	// binding panics.
	defer func() {
		if !release() {
			<-stopped
		}
	}()
	return s.failed(ctx, s.session.RunWithOptions(v.in, v.out, options))
}

// failed classifies the error of a run. What the runtime says is for logs.
func (s *Session) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if gone := failure.OfContext(ctx); gone != nil {
		return gone
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
