// Package ours is our own side of the benchmark of preprocess: the backend as the
// service calls it, the resampler alone, and the library that it is compared with.
package ours

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"triptych/loadtest/bench/turns"
	"triptych/proto/inference"
	"triptych/services/preprocess"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
)

// The names of the input and of the output.
const (
	Input  = "IMAGE"
	Output = "image"
)

// Config is the configuration of a model that does what a task says.
func Config(name string, task turns.Task) string {
	decode, orientation := "", "ignore"
	if task.Scaled {
		decode = `{ key: "decode" value { string_value: "scaled" } },`
	}
	if task.Upright {
		orientation = "exif"
	}
	return fmt.Sprintf(`name: %q
backend: "image"
max_batch_size: 16
input [ { name: %q data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: %q data_type: TYPE_UINT8 dims: [ %d, %d, 3 ] } ]
parameters [
  { key: "resize" value { string_value: "shortest" } },
  { key: "size" value { string_value: "%d" } },
  { key: "filter" value { string_value: %q } },
  { key: "crop" value { string_value: "center" } },
  { key: "orientation" value { string_value: %q } },
  %s
  { key: "layout" value { string_value: "NHWC" } }
]
`, name, Input, Output, task.Crop, task.Crop, task.Size, task.Filter, orientation, decode)
}

// Prepare implements turns.Prepare.
func Prepare(task turns.Task) (turns.Work, turns.Prepared, error) {
	switch {
	case task.Kind == turns.Image && task.Library == "":
		return prepareImages(task)
	case task.Kind == turns.Resize:
		return prepareResize(task)
	default:
		return nil, turns.Prepared{}, fmt.Errorf("there is no %q with library %q", task.Kind, task.Library)
	}
}

// prepareImages loads a model and asks it as the service does.
func prepareImages(task turns.Task) (turns.Work, turns.Prepared, error) {
	p := turns.Prepared{Version: runtime.Version()}
	m, err := load(task)
	if err != nil {
		return nil, p, err
	}
	requests := make([]*inference.ModelInferRequest, len(task.Files))
	for i, file := range task.Files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, p, err
		}
		requests[i] = Request(data)
		resp, err := m.Infer(context.Background(), requests[i])
		if err != nil {
			return nil, p, fmt.Errorf("%s: %w", file, err)
		}
		out, _ := oip.Output(resp, Output)
		p.Sums = append(p.Sums, turns.Sum(out.Data))
	}
	if task.Scaled {
		err = compare(&p, task, m, requests)
	}
	return func(n int) error {
		_, _, err := m.InferTimed(context.Background(), requests[n%len(requests)])
		return err
	}, p, err
}

func load(task turns.Task) (modelserver.TimedModel, error) {
	cfg, err := modelconfig.ParseText(modelconfig.Filename, []byte(Config("bench", task)))
	if err != nil {
		return nil, err
	}
	backend, err := preprocess.NewBackend(preprocess.DefaultConfig(), telemetry.Discard())
	if err != nil {
		return nil, err
	}
	m, err := backend.Load(context.Background(), modelserver.Spec{Config: cfg, Version: 1})
	if err != nil {
		return nil, err
	}
	timed, ok := m.(modelserver.TimedModel)
	if !ok {
		return nil, fmt.Errorf("the model is a %T, which tells no times", m)
	}
	return timed, nil
}

// Tensor is an image as an input of a model.
func Tensor(data []byte) oip.Tensor {
	return oip.Tensor{Name: Input, Datatype: oip.Bytes, Shape: []int64{1, 1}, Data: oip.JoinStrings(data)}
}

// Request asks a model about one image.
func Request(data []byte) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{}
	oip.AddInput(req, Tensor(data))
	return req
}
