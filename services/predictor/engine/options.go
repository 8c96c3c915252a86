package engine

import (
	"maps"
	"slices"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/shared/failure"
)

// options is everything that the runtime is told when it opens a session.
type options struct {
	device       Device
	parallel     bool
	level        ort.GraphOptimizationLevel
	intra, inter int // threads
	arena        bool
	pattern      bool
	entries      map[string]string
	providers    []provider
}

// target takes options: the runtime's own, or those of a test.
type target interface {
	SetExecutionMode(mode ort.ExecutionMode) error
	SetGraphOptimizationLevel(level ort.GraphOptimizationLevel) error
	SetIntraOpNumThreads(n int) error
	SetInterOpNumThreads(n int) error
	SetMemPattern(on bool) error
	AddSessionConfigEntry(key, value string) error
	setArena(on bool) error
	appendProvider(p provider) error
}

// apply says all of it. What is set here and nothing else reaches the runtime.
func (o options) apply(to target) error {
	mode := ort.ExecutionMode(ort.ExecutionModeSequential)
	if o.parallel {
		mode = ort.ExecutionModeParallel
	}
	err := first(
		to.SetExecutionMode(mode),
		to.SetGraphOptimizationLevel(o.level),
		to.SetIntraOpNumThreads(o.intra),
		to.SetInterOpNumThreads(o.inter),
		to.setArena(o.arena),
		to.SetMemPattern(o.pattern),
	)
	if err != nil {
		return failure.Wrap(err, failure.Internal, "the runtime refuses the session's options")
	}
	for _, key := range slices.Sorted(maps.Keys(o.entries)) {
		if err := to.AddSessionConfigEntry(key, o.entries[key]); err != nil {
			return failure.Wrap(err, failure.Invalid, "the runtime refuses %q for parameter %q: %s", o.entries[key], key, plain(err))
		}
	}
	return o.appendTo(to)
}

// appendTo asks for the device.
func (o options) appendTo(to target) error {
	for _, p := range o.providers {
		if err := to.appendProvider(p); err != nil {
			return failure.New(failure.Invalid, "--device %s: the runtime can't use it: %s", o.device, plain(err))
		}
	}
	return nil
}

// runtimeOptions are the runtime's own.
type runtimeOptions struct{ *ort.SessionOptions }

var _ target = runtimeOptions{}

// open makes the runtime's options. The caller destroys them.
func (o options) open() (*ort.SessionOptions, error) {
	held, err := ort.NewSessionOptions()
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the runtime gives no session options")
	}
	if err := o.apply(runtimeOptions{held}); err != nil {
		discard(held)
		return nil, err
	}
	return held, nil
}

func (r runtimeOptions) setArena(on bool) error { return r.SetCpuMemArena(on) }

func (r runtimeOptions) appendProvider(p provider) error {
	if p.kind == TensorRT {
		return r.appendTensorRT(p.settings)
	}
	return r.appendCUDA(p.settings)
}

func (r runtimeOptions) appendCUDA(settings map[string]string) error {
	cuda, err := ort.NewCUDAProviderOptions()
	if err != nil {
		return err
	}
	defer discard(cuda)
	if err := cuda.Update(settings); err != nil {
		return err
	}
	return r.AppendExecutionProviderCUDA(cuda)
}

func (r runtimeOptions) appendTensorRT(settings map[string]string) error {
	trt, err := ort.NewTensorRTProviderOptions()
	if err != nil {
		return err
	}
	defer discard(trt)
	if err := trt.Update(settings); err != nil {
		return err
	}
	return r.AppendExecutionProviderTensorRT(trt)
}
