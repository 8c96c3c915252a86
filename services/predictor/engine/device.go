package engine

import (
	"strconv"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// The kinds of devices.
const (
	Auto     = "auto"
	CPU      = "cpu"
	CUDA     = "cuda"
	TensorRT = "tensorrt"
)

// Device is where a model runs.
type Device struct {
	// Kind is one of Auto, CPU, CUDA and TensorRT.
	Kind string
	// ID is the number of the GPU.
	ID int
}

// ParseDevice reads "cpu", "cuda", "cuda:1", "tensorrt", "tensorrt:1" or "auto".
func ParseDevice(text string) (Device, error) {
	kind, number, numbered := strings.Cut(text, ":")
	d := Device{Kind: kind}
	valid := kind == Auto || kind == CPU
	if kind == CUDA || kind == TensorRT {
		valid = true
		if numbered {
			id, err := strconv.ParseUint(number, 10, 16)
			d.ID, numbered, valid = int(id), false, err == nil
		}
	}
	if !valid || numbered {
		return Device{}, failure.New(failure.Invalid, "%q is no device: use auto, cpu, cuda, cuda:N, tensorrt or tensorrt:N", text)
	}
	return d, nil
}

// String is the form that ParseDevice reads.
func (d Device) String() string {
	if d.GPU() {
		return d.Kind + ":" + strconv.Itoa(d.ID)
	}
	return d.Kind
}

// GPU tells whether the device is surely a GPU.
func (d Device) GPU() bool { return d.Kind == CUDA || d.Kind == TensorRT }

// Provider is the name that the runtime has for what runs on the device.
func (d Device) Provider() string {
	switch d.Kind {
	case CUDA:
		return "CUDAExecutionProvider"
	case TensorRT:
		return "TensorrtExecutionProvider"
	default:
		return "CPUExecutionProvider"
	}
}

// Offers says why the runtime can't use a device that was asked for. That it can
// is no proof of a GPU that works: only a run is.
func (l *Library) Offers(d Device) error {
	if !d.GPU() {
		return nil
	}
	options, err := ort.NewSessionOptions()
	if err != nil {
		return failure.Wrap(err, failure.Internal, "the runtime gives no session options")
	}
	defer discard(options)
	return tuning{}.appendProvider(options, &inference.ModelConfig{}, d)
}

// placement is what a configuration's instance groups ask for.
type placement struct {
	device Device
	count  int // 0: nothing was asked for
}

// place reconciles the instance groups of a configuration with the device that
// the service was told to use.
func place(cfg *inference.ModelConfig, flag Device) (placement, error) {
	p := placement{device: flag}
	var kind inference.ModelInstanceGroup_Kind
	for i, group := range cfg.GetInstanceGroup() {
		if group.GetPassive() {
			return p, failure.New(failure.Unsupported, "model %q: a passive instance_group is not supported", cfg.GetName())
		}
		if i > 0 && group.GetKind() != kind {
			return p, failure.New(failure.Unsupported, "model %q: instance_group mixes kinds, but one session runs all instances", cfg.GetName())
		}
		kind = group.GetKind()
		p.count += int(group.GetCount())
		if len(group.GetGpus()) > 1 || i > 0 && len(group.GetGpus()) > 0 {
			return p, failure.New(failure.Unsupported, "model %q: instance_group lists several GPUs, but one session runs on one: start a predictor for each", cfg.GetName())
		}
		if len(group.GetGpus()) == 1 {
			p.device.ID = int(group.GetGpus()[0])
		}
	}
	switch {
	case kind == inference.ModelInstanceGroup_KIND_CPU:
		p.device = Device{Kind: CPU}
	case kind == inference.ModelInstanceGroup_KIND_GPU && flag.Kind == CPU:
		return p, failure.New(failure.Invalid, "model %q: instance_group asks for a GPU (KIND_GPU), but --device is cpu", cfg.GetName())
	case kind == inference.ModelInstanceGroup_KIND_GPU && flag.Kind == Auto:
		p.device.Kind = CUDA
	}
	return p, nil
}
