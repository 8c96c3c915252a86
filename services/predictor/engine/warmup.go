package engine

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// WarmUp runs the samples of a configuration's model_warmup. Their files lie in
// the folder "warmup" of the model's directory.
func (s *Session) WarmUp(ctx context.Context, cfg *inference.ModelConfig, directory string) error {
	for _, sample := range cfg.GetModelWarmup() {
		if sample.GetBatchSize() == 0 && s.contract.batching {
			continue // Triton's way to switch a sample off
		}
		inputs, err := s.sample(sample, directory)
		if err != nil {
			return err
		}
		for range max(sample.GetCount(), 1) {
			if _, err := s.Run(ctx, inputs); err != nil {
				return failure.Prefix("model_warmup \""+sample.GetName()+"\"", err)
			}
		}
	}
	return nil
}

// sample makes the inputs of one warm-up request.
func (s *Session) sample(sample *inference.ModelWarmup, directory string) ([]oip.Tensor, error) {
	inputs := make([]oip.Tensor, 0, len(s.contract.inputs))
	for _, want := range s.contract.inputs {
		given, ok := sample.GetInputs()[want.name]
		if !ok {
			return nil, failure.New(failure.Invalid, "model %q: model_warmup %q lacks input %q", s.model, sample.GetName(), want.name)
		}
		shape := append([]int64{}, given.GetDims()...)
		if s.contract.batching {
			shape = append([]int64{int64(sample.GetBatchSize())}, shape...)
		}
		if given.GetDataType() != want.datatype || !oip.Fits(shape, want.wire) {
			return nil, failure.New(failure.Invalid, "model %q: model_warmup %q: input %q is %s, the model takes %s", s.model, sample.GetName(), want.name, describe(given.GetDataType(), shape), describe(want.datatype, want.wire))
		}
		data, err := sampleData(given, want.datatype, shape, directory)
		if err != nil {
			return nil, failure.Prefix("model_warmup \""+sample.GetName()+"\": input \""+want.name+"\"", err)
		}
		inputs = append(inputs, oip.Tensor{Name: want.name, Datatype: oip.Datatype(want.datatype), Shape: shape, Data: data})
	}
	return inputs, nil
}

func sampleData(given *inference.ModelWarmup_Input, t inference.DataType, shape []int64, directory string) ([]byte, error) {
	if n, err := oip.Elements(shape); err != nil || n > (maxBytes-1)/leastSize(t) {
		return nil, failure.Wrap(err, failure.Invalid, "%s takes 1 GiB or more", describe(t, shape))
	}
	size := zeroSize(t, shape)
	switch given.GetInputDataType().(type) {
	case *inference.ModelWarmup_Input_InputDataFile:
		return sampleFile(given.GetInputDataFile(), t, size, directory)
	case *inference.ModelWarmup_Input_RandomData:
		data := make([]byte, size)
		if t != inference.DataType_TYPE_STRING {
			// The same every time, so that a failing load fails again.
			_, _ = rand.NewChaCha8([32]byte{}).Read(data)
		}
		return data, nil
	default:
		return make([]byte, size), nil
	}
}

func sampleFile(name string, t inference.DataType, size int64, directory string) ([]byte, error) {
	if !filepath.IsLocal(name) {
		return nil, failure.New(failure.Invalid, "the file %q leaves the folder warmup", name)
	}
	path := filepath.Join(directory, "warmup", name)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // to open a pipe waits for its writer
		return nil, failure.New(failure.Invalid, "the file warmup/%s is not a regular file", name)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "the file warmup/%s can't be read", name)
	}
	if t != inference.DataType_TYPE_STRING && int64(len(data)) != size {
		return nil, failure.New(failure.Invalid, "the file warmup/%s has %d bytes, the tensor has %d", name, len(data), size)
	}
	return data, nil
}
