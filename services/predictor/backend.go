package predictor

import (
	"context"
	"strconv"

	"triptych/services/predictor/batcher"
	"triptych/services/predictor/engine"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// Name is what a configuration's `backend` says.
const Name = "onnxruntime"

var (
	_ modelserver.Backend   = (*Backend)(nil)
	_ modelserver.Completer = (*Backend)(nil)
)

// Backend makes models of ONNX files. Safe for concurrent use.
type Backend struct {
	cfg       Config
	device    engine.Device
	library   *engine.Library
	tel       *telemetry.Telemetry
	batches   *batcher.Metrics
	providers *providers
}

// NewBackend loads ONNX Runtime. A GPU that is asked for and that the runtime does
// not offer is an error. Close the backend after its models. Its batches are
// counted in metrics, which it may share with other backends.
func NewBackend(cfg Config, tel *telemetry.Telemetry, metrics *batcher.Metrics) (*Backend, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	device, err := engine.ParseDevice(cfg.Device)
	if err != nil {
		return nil, err
	}
	path, err := engine.Find(cfg.Library)
	if err != nil {
		return nil, err
	}
	library, err := engine.Open(path)
	if err != nil {
		return nil, err
	}
	b := &Backend{cfg: cfg, device: device, library: library, tel: tel, batches: metrics}
	err = library.Offers(device)
	if err == nil {
		b.providers, err = newProviders(tel.Registry)
	}
	if err != nil {
		_ = library.Close()
		return nil, err
	}
	tel.Logger.Info("ONNX Runtime loaded", "path", path, "version", library.Version(), "device", device.String())
	return b, nil
}

// Name is "onnxruntime".
func (b *Backend) Name() string { return Name }

// Close lets go of the library. It may be called more than once.
func (b *Backend) Close() error { return b.library.Close() }

// Live says that a batch hangs, of whichever backend, if one does: the runtime may
// give no error for a device that does not answer.
func (b *Backend) Live() error { return b.batches.Stalled(b.cfg.StallTimeout) }

// Complete fills in inputs, outputs, max_batch_size and the scheduler from the
// model file, unless the service is told not to.
func (b *Backend) Complete(_ context.Context, spec modelserver.Spec) error {
	if b.cfg.DisableAutoComplete {
		return nil
	}
	return b.library.Complete(spec.Config, spec.VersionDirectory())
}

// Load makes one version runnable.
func (b *Backend) Load(ctx context.Context, spec modelserver.Spec) (modelserver.Model, error) {
	session, err := b.library.Load(ctx, spec.Config, spec.VersionDirectory(), engine.Settings{
		Device: b.device, IntraOpThreads: b.cfg.IntraOpThreads, Logger: b.tel.Logger,
	})
	if err != nil {
		return nil, err
	}
	version := strconv.FormatInt(spec.Version, 10)
	batching := batcher.FromModel(spec.Config, version, b.cfg.MaxQueueSize, session.Instances())
	batching.Device = session.Device().String()
	batches, err := batcher.New(batching, session.Run, b.tel.Tracer, b.batches)
	if err != nil {
		_ = session.Close()
		return nil, err
	}
	return &model{
		spec: spec, session: session, batcher: batches,
		forget: b.providers.add(spec.Name(), version, b.device.String(), session.Device().Provider()),
		properties: map[string]string{
			"device":             session.Device().String(),
			"device_requested":   b.device.String(),
			"execution_provider": session.Device().Provider(),
			"onnxruntime":        b.library.Version(),
			"instances":          strconv.Itoa(session.Instances()),
			"intra_op_threads":   strconv.Itoa(session.Threads()),
		},
	}, nil
}
