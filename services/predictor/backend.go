package predictor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"triptych/services/predictor/batcher"
	"triptych/services/predictor/engine"
	"triptych/services/predictor/gpu"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
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
	gpus      *gpu.Monitor
	tel       *telemetry.Telemetry
	batches   *batcher.Metrics
	providers *providers
	yielding  sync.WaitGroup
	end       context.CancelFunc // of yielding
}

// NewBackend loads ONNX Runtime. A GPU that is asked for and that the runtime does
// not offer is an error, unless the models may fall back to the CPU. Close the
// backend after its models. Its batches are counted in metrics, which it may share
// with other backends.
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
	ctx, cancel := context.WithCancel(context.Background())
	b := &Backend{cfg: cfg, end: cancel, device: device, library: library, gpus: gpu.Open(tel.Logger), tel: tel, batches: metrics}
	if err := b.start(); err != nil {
		_ = b.Close()
		return nil, err
	}
	if cfg.YieldProcessors {
		b.yielding.Go(func() { library.Yield(ctx) })
	}
	tel.Logger.Info("ONNX Runtime loaded", "path", path, "version", library.Version(), "device", device.String())
	return b, nil
}

func (b *Backend) start() error {
	if err := b.library.Offers(b.device); err != nil {
		if b.cfg.DeviceFallback != engine.FallbackCPU {
			return err
		}
		b.tel.Logger.Warn("device is not there, models fall back to the CPU", "device", b.device.String(), "error", err)
	}
	if err := b.gpus.Register(b.tel.Registry); err != nil {
		return err
	}
	var err error
	b.providers, err = newProviders(b.tel.Registry)
	return err
}

// Name is "onnxruntime".
func (b *Backend) Name() string { return Name }

// Close lets go of the library. It may be called more than once.
func (b *Backend) Close() error {
	b.end()
	b.yielding.Wait()
	return errors.Join(b.gpus.Close(), b.library.Close())
}

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
		Device: b.device, GPUs: b.gpus.Count(), Fallback: b.cfg.DeviceFallback, IntraOpThreads: b.cfg.IntraOpThreads,
		WideBytes: b.cfg.WideSessionMaxBytes, Logger: b.tel.Logger,
	})
	if err != nil {
		return nil, err
	}
	version := strconv.FormatInt(spec.Version, 10)
	batching := batcher.FromModel(spec.Config, version, b.cfg.MaxQueueSize, session.Instances())
	batching.Device = session.Device().String()
	batches, err := batcher.New(batching, execute(session), b.tel.Tracer, b.batches)
	if err != nil {
		_ = session.Close()
		return nil, err
	}
	return &model{
		spec: spec, session: session, batcher: batches,
		forget:     b.providers.add(spec.Name(), version, session.Asked(), strings.Join(session.Providers(), ",")),
		properties: properties(session, b.library.Version()),
	}, nil
}

// execute runs batches, in the batcher's words for what a smaller batch may
// avoid.
func execute(session *engine.Session) batcher.Execute {
	return func(ctx context.Context, inputs []oip.Tensor) ([]oip.Tensor, time.Duration, error) {
		outputs, work, err := session.RunTimed(ctx, inputs)
		if engine.OutOfMemory(err) {
			err = fmt.Errorf("%w: %w", batcher.ErrOutOfMemory, err)
		}
		return outputs, work, err
	}
}

// properties tell what runs a model.
func properties(session *engine.Session, library string) map[string]string {
	devices := make([]string, 0, len(session.Devices()))
	for _, d := range session.Devices() {
		devices = append(devices, d.String())
	}
	told := map[string]string{
		"device":             strings.Join(devices, ","),
		"device_requested":   session.Asked(),
		"execution_provider": strings.Join(session.Providers(), ","),
		"onnxruntime":        library,
		"instances":          strconv.Itoa(session.Instances()),
		"intra_op_threads":   strconv.Itoa(session.Threads()),
	}
	if threads := session.WideThreads(); threads > 0 {
		told["wide_intra_op_threads"] = strconv.Itoa(threads)
	}
	if remark := session.Remark(); remark != "" {
		told["device_remark"] = remark
	}
	return told
}
