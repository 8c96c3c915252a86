// Package servertest is to model servers what httptest is to HTTP: real servers
// on loopback, with models that are functions. Only tests import it.
package servertest

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

// Backend is a backend made of a function.
type Backend struct {
	Kind   string
	OnLoad func(ctx context.Context, spec modelserver.Spec) (modelserver.Model, error)
}

// Name implements modelserver.Backend.
func (b Backend) Name() string { return b.Kind }

// Load implements modelserver.Backend.
func (b Backend) Load(ctx context.Context, spec modelserver.Spec) (modelserver.Model, error) {
	return b.OnLoad(ctx, spec)
}

// Model is a model made of functions. A nil OnClose does nothing.
type Model struct {
	OnInfer func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error)
	OnClose func() error
}

// Infer implements modelserver.Model.
func (m Model) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	return m.OnInfer(ctx, req)
}

// Close implements modelserver.Model.
func (m Model) Close() error {
	if m.OnClose == nil {
		return nil
	}
	return m.OnClose()
}

// Map is the model whose FP32 output "y" is f of each element of its input "x".
func Map(f func(float32) float32) Model {
	return Model{OnInfer: func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		x, _ := oip.Input(req, "x")
		values := Floats(x.Data)
		for i, v := range values {
			values[i] = f(v)
		}
		resp := &inference.ModelInferResponse{}
		oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "FP32", Shape: x.Shape, Data: Raw(values...)})
		return resp, nil
	}}
}

// MapConfig is the configuration of a model of Map with vectors of two.
func MapConfig(backend string) string {
	return `backend: "` + backend + `"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 2 }
output { name: "y" data_type: TYPE_FP32 dims: 2 }
`
}

// Request is a request for a model of Map, with raw contents.
func Request(model string, x ...float32) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{ModelName: model}
	oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "FP32", Shape: []int64{int64(len(x) / 2), 2}, Data: Raw(x...)})
	return req
}

// Answer is the FP32 output of that name in a response with raw contents.
func Answer(resp *inference.ModelInferResponse, name string) []float32 {
	y, _ := oip.Output(resp, name)
	return Floats(y.Data)
}

// Raw is the wire form of FP32 values.
func Raw(values ...float32) []byte {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// Floats reads the wire form of FP32 values.
func Floats(data []byte) []float32 {
	values := make([]float32, 0, len(data)/4)
	for ; len(data) >= 4; data = data[4:] {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(data)))
	}
	return values
}

// Write makes files in a folder, by their slashed paths. A path that ends in a
// slash is a folder.
func Write(tb testing.TB, folder string, files map[string]string) {
	tb.Helper()
	for path, text := range files {
		full := filepath.Join(folder, filepath.FromSlash(path))
		if path[len(path)-1] == '/' {
			if err := os.MkdirAll(full, 0o755); err != nil {
				tb.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

// Repository is a new folder with those files.
func Repository(tb testing.TB, files map[string]string) string {
	tb.Helper()
	folder := tb.TempDir()
	Write(tb, folder, files)
	return folder
}
