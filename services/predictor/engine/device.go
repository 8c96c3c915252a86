package engine

import (
	"strconv"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/shared/failure"
)

// The kinds of devices.
const (
	Auto     = "auto"
	CPU      = "cpu"
	CUDA     = "cuda"
	TensorRT = "tensorrt"
)

// Every is the ID of a Device that stands for all GPUs of the machine.
const Every = -1

// Device is where a model runs.
type Device struct {
	// Kind is one of Auto, CPU, CUDA and TensorRT.
	Kind string
	// ID is the number of the GPU, or Every.
	ID int
}

// ParseDevice reads "cpu", "cuda", "cuda:1", "tensorrt", "tensorrt:1" or "auto".
// A GPU without a number is Every.
func ParseDevice(text string) (Device, error) {
	kind, number, numbered := strings.Cut(text, ":")
	d := Device{Kind: kind}
	valid := kind == Auto || kind == CPU
	if kind == CUDA || kind == TensorRT {
		d.ID, valid = Every, true
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
	if d.GPU() && d.ID != Every {
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
	held, err := ort.NewSessionOptions()
	if err != nil {
		return failure.Wrap(err, failure.Internal, "the runtime gives no session options")
	}
	defer discard(held)
	d.ID = max(d.ID, 0)
	return options{device: d, providers: providersOf(d, nil, nil)}.appendTo(runtimeOptions{held})
}
