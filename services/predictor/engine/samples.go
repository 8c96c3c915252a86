package engine

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// Sample is the inputs of one request.
type Sample struct {
	Name   string
	Inputs []oip.Tensor
}

const (
	// maxSamples and maxSampleBytes bound what a folder of samples may hold.
	maxSamples     = 1000
	maxSampleBytes = 256 << 20
	// noiseRows is how many rows of noise stand in for samples.
	noiseRows = 4
)

// sampleFolder is where a configuration's samples lie, if it names a folder.
func sampleFolder(cfg *inference.ModelConfig) string {
	return modelconfig.NewParameters(cfg).Text("gate_samples", "")
}

// Samples are what a new version is compared on with the one that serves: those
// of the folder that "gate_samples" names, or else of model_warmup, or else one
// of zeros and one of noise.
func (s *Session) Samples(ctx context.Context, cfg *inference.ModelConfig, directory string) ([]Sample, error) {
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	if folder := sampleFolder(cfg); folder != "" {
		return s.filedSamples(cfg, folder, directory)
	}
	var samples []Sample
	for _, w := range cfg.GetModelWarmup() {
		if s.switchedOff(w) {
			continue
		}
		inputs, err := s.sample(w, directory)
		if err != nil {
			return nil, err
		}
		if s.inBatch(inputs, int64(cfg.GetMaxBatchSize())) == nil { // warms up, but no caller could send it
			samples = append(samples, Sample{Name: w.GetName(), Inputs: inputs})
		}
	}
	if len(samples) > 0 {
		return samples, nil
	}
	return []Sample{
		{Name: "zeros", Inputs: s.madeUp(1, func(_ inference.DataType, size int64) []byte { return make([]byte, size) })},
		{Name: "noise", Inputs: s.madeUp(min(noiseRows, max(int64(cfg.GetMaxBatchSize()), 1)), noise)},
	}, nil
}

// madeUp are inputs for a batch, in which free dimensions are 1.
func (s *Session) madeUp(batch int64, data func(t inference.DataType, size int64) []byte) []oip.Tensor {
	inputs := make([]oip.Tensor, len(s.contract.inputs))
	for i, in := range s.contract.inputs {
		shape := smallest(in.wire, s.contract.batching, batch)
		inputs[i] = oip.Tensor{Name: in.name, Datatype: oip.Datatype(in.datatype), Shape: shape, Data: data(in.datatype, zeroSize(in.datatype, shape))}
	}
	return inputs
}

// filedSamples reads a folder of samples. Each is a folder with a file for each
// input that holds the tensor's raw bytes.
func (s *Session) filedSamples(cfg *inference.ModelConfig, folder, directory string) ([]Sample, error) {
	if !filepath.IsLocal(folder) {
		return nil, failure.New(failure.Invalid, "model %q: gate_samples %q leaves the model's folder", s.model, folder)
	}
	entries, err := os.ReadDir(filepath.Join(directory, folder))
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "model %q: the folder %q of gate_samples can't be read", s.model, folder)
	}
	var samples []Sample
	total := 0
	for _, e := range entries { // sorted by name
		info, err := os.Stat(filepath.Join(directory, folder, e.Name())) // a link counts as what it leads to
		if err != nil || !info.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		inputs, size, err := s.filedSample(filepath.Join(folder, e.Name()), directory)
		if err == nil {
			err = s.inBatch(inputs, int64(cfg.GetMaxBatchSize()))
		}
		if err != nil {
			return nil, failure.Prefix("model "+strconv.Quote(s.model)+": gate_samples "+strconv.Quote(e.Name()), err)
		}
		samples = append(samples, Sample{Name: e.Name(), Inputs: inputs})
		if total += size; total > maxSampleBytes || len(samples) > maxSamples {
			return nil, failure.New(failure.Invalid, "model %q: gate_samples has more than %d samples or %d MiB", s.model, maxSamples, maxSampleBytes>>20)
		}
	}
	if len(samples) == 0 {
		return nil, failure.New(failure.Invalid, "model %q: the folder %q of gate_samples has no sample: a sample is a folder with a file for each input", s.model, folder)
	}
	return samples, nil
}

func (s *Session) filedSample(folder, directory string) (inputs []oip.Tensor, size int, err error) {
	for _, in := range s.contract.inputs {
		file := strings.ReplaceAll(in.name, "/", "%2F")
		data, err := readSample(directory, folder, file)
		if err != nil {
			return nil, 0, err
		}
		shape, err := s.filedShape(in, data, directory, folder, file)
		if err != nil {
			return nil, 0, failure.Prefix("input "+strconv.Quote(in.name), err)
		}
		size += len(data)
		inputs = append(inputs, oip.Tensor{Name: in.name, Datatype: oip.Datatype(in.datatype), Shape: shape, Data: data})
	}
	return inputs, size, nil
}

// inBatch refuses a sample that no caller could send: the versions would be
// compared on nothing.
func (s *Session) inBatch(inputs []oip.Tensor, most int64) error {
	for _, in := range inputs {
		if rows := in.Shape[0]; s.contract.batching && (rows < 1 || rows > most) {
			return failure.New(failure.Invalid, "input %q has %d rows, the model takes 1 to %d", in.Name, rows, most)
		}
	}
	return nil
}

// filedShape is the shape of a tensor in a file: what the file beside it says,
// or else the configured one, with as many rows as there are bytes for.
func (s *Session) filedShape(in tensor, data []byte, directory, folder, file string) ([]int64, error) {
	if _, err := os.Stat(filepath.Join(directory, folder, file+".shape")); err == nil {
		text, err := readSample(directory, folder, file+".shape")
		if err != nil {
			return nil, err
		}
		shape, ok := parseShape(string(text))
		if !ok || !oip.Fits(shape, in.wire) {
			return nil, failure.New(failure.Invalid, "the file %s.shape says %s, the model takes %s", file, failure.Quote(strings.TrimSpace(string(text))), describe(in.datatype, in.wire))
		}
		return shape, nil
	}
	if free(in.wire, s.contract.batching) {
		return nil, failure.New(failure.Invalid, "the model takes %s: a file %s.shape must say the shape, such as 1,3,224,224", describe(in.datatype, in.wire), file)
	}
	shape := smallest(in.wire, s.contract.batching, 1)
	if !s.contract.batching {
		return shape, nil
	}
	one, have := zeroSize(in.datatype, shape), int64(len(data))
	if in.datatype == inference.DataType_TYPE_STRING {
		one, have = one/leastSize(in.datatype), countStrings(data)
	}
	if one == 0 || have == 0 || have%one != 0 {
		return nil, failure.New(failure.Invalid, "the file %s has %d bytes, which is no number of rows of %s", file, len(data), describe(in.datatype, in.wire))
	}
	shape[0] = have / one
	return shape, nil
}

// parseShape reads numbers between commas.
func parseShape(text string) ([]int64, bool) {
	var shape []int64
	for word := range strings.SplitSeq(strings.Trim(strings.TrimSpace(text), "[]"), ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil || n < 0 {
			return nil, false
		}
		shape = append(shape, n)
	}
	return shape, true
}

// countStrings counts BYTES elements, each its length and then its bytes; -1 for
// what is cut short.
func countStrings(data []byte) int64 {
	count := int64(0)
	for ; len(data) > 0; count++ {
		if len(data) < 4 {
			return -1
		}
		length := uint64(binary.LittleEndian.Uint32(data))
		if data = data[4:]; length > uint64(len(data)) {
			return -1
		}
		data = data[length:]
	}
	return count
}
