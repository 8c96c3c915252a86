package engine

import (
	"context"
	"os"
	"path/filepath"

	"triptych/proto/inference"
	"triptych/shared/drift"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// WarmUp runs a new session before it takes traffic: the samples of the
// configuration's model_warmup, those that new versions are compared on, and a
// batch of each size that it will see. It tells how long the sizes took.
//
// Triton warms up each instance. Here all instances of a device are concurrent
// runs of one session, so that each sample runs on each device, in each of its
// gears, as often as its count says, once by default.
func (s *Session) WarmUp(ctx context.Context, cfg *inference.ModelConfig, directory string) ([]Measured, error) {
	for _, sample := range cfg.GetModelWarmup() {
		if s.switchedOff(sample) {
			continue
		}
		inputs, err := s.sample(sample, directory)
		if err != nil {
			return nil, err
		}
		what := `model_warmup "` + sample.GetName() + `"`
		for range max(sample.GetCount(), 1) {
			if err := s.warm(ctx, what, inputs, fromFiles(sample)); err != nil {
				return nil, err
			}
		}
	}
	folder := sampleFolder(cfg)
	if folder != "" {
		samples, err := s.filedSamples(cfg, folder, directory)
		if err != nil {
			return nil, err
		}
		for _, sample := range samples {
			if err := s.warm(ctx, `gate_samples "`+sample.Name+`"`, sample.Inputs, true); err != nil {
				return nil, err
			}
		}
	}
	return s.ramp(ctx, cfg)
}

// switchedOff is Triton's way to leave a sample out: no batch.
func (s *Session) switchedOff(sample *inference.ModelWarmup) bool {
	return sample.GetBatchSize() == 0 && s.contract.batching
}

// fromFiles tells whether a sample is real data.
func fromFiles(sample *inference.ModelWarmup) bool {
	for _, in := range sample.GetInputs() {
		if in.GetInputDataFile() == "" {
			return false
		}
	}
	return true
}

// warm runs one sample everywhere. That NaN comes of real data is a fault of the model, as
// weights that were half copied make it; of zeros and noise it may come rightly.
func (s *Session) warm(ctx context.Context, what string, inputs []oip.Tensor, realData bool) error {
	for _, at := range s.everywhere() {
		outputs, err := s.runThere(ctx, at, inputs)
		if err != nil {
			return failure.Prefix(what, err)
		}
		if err := s.checkNaN(what, outputs, realData); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) checkNaN(what string, outputs []oip.Tensor, realData bool) error {
	for _, out := range outputs {
		n := drift.NaNs(out)
		switch {
		case n == 0:
		case realData:
			return failure.New(failure.Invalid, "model %q: %s gives %d NaN in output %q of shape %s", s.model, what, n, out.Name, oip.FormatShape(out.Shape))
		default:
			s.logger.Warn("warm-up gives NaN", "sample", what, "output", out.Name, "count", n)
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
		data, err := readSample(directory, "warmup", given.GetInputDataFile())
		if err == nil && t != inference.DataType_TYPE_STRING && int64(len(data)) != size {
			err = failure.New(failure.Invalid, "the file warmup/%s has %d bytes, the tensor has %d", given.GetInputDataFile(), len(data), size)
		}
		return data, err
	case *inference.ModelWarmup_Input_RandomData:
		return noise(t, size), nil
	default:
		return make([]byte, size), nil
	}
}

// readSample reads a file in a folder of the model's directory.
func readSample(directory, folder, name string) ([]byte, error) {
	if !filepath.IsLocal(name) {
		return nil, failure.New(failure.Invalid, "the file %q leaves the folder %s", name, folder)
	}
	shown := filepath.Join(folder, name)
	path := filepath.Join(directory, shown)
	switch info, err := os.Stat(path); {
	case err != nil:
	case !info.Mode().IsRegular(): // to open a pipe waits for its writer
		return nil, failure.New(failure.Invalid, "the file %s is not a regular file", shown)
	case info.Size() >= maxBytes:
		return nil, failure.New(failure.Invalid, "the file %s has 1 GiB or more", shown)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "the file %s can't be read", shown)
	}
	return data, nil
}
