package postprocess_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triptych/proto/inference"
	"triptych/services/postprocess"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// threeClasses is a model of three classes with all the outputs there are.
const threeClasses = `
	name: "post"
	backend: "classification"
	max_batch_size: 4
	input [ { name: "logits" data_type: TYPE_FP32 dims: [ 3 ] } ]
	output [
	  { name: "LABEL" data_type: TYPE_STRING dims: [ 2 ] label_filename: "labels.txt" },
	  { name: "SCORE" data_type: TYPE_FP32 dims: [ 2 ] },
	  { name: "CLASS" data_type: TYPE_INT32 dims: [ 2 ] }
	]`

const threeLabels = "ant\nbee\ncat\n"

// load makes a directory with a labels file and loads the configuration there.
func load(tb testing.TB, config, labels string) (modelserver.Model, error) {
	tb.Helper()
	return loadWith(tb, postprocess.DefaultConfig(), telemetry.Discard(), config, labels)
}

func loadWith(tb testing.TB, cfg postprocess.Config, tel *telemetry.Telemetry, config, labels string) (modelserver.Model, error) {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "labels.txt"), []byte(labels), 0o600); err != nil {
		tb.Fatal(err)
	}
	parsed, err := modelconfig.ParseText("config.pbtxt", []byte(config))
	if err != nil {
		tb.Fatal(err)
	}
	backend, err := postprocess.NewBackend(cfg, tel)
	if err != nil {
		tb.Fatal(err)
	}
	return backend.Load(tb.Context(), modelserver.Spec{Config: parsed, Version: 1, Directory: dir})
}

func mustLoad(tb testing.TB, config, labels string) modelserver.Model {
	tb.Helper()
	model, err := load(tb, config, labels)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := model.Close(); err != nil {
			tb.Error(err)
		}
	})
	return model
}

func fp32(values ...float64) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	return data
}

// request is a batch of rows of three logits.
func request(values ...float64) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{Parameters: oip.Parameters{}}
	oip.AddInput(req, oip.Tensor{Name: "logits", Datatype: "FP32", Shape: []int64{int64(len(values) / 3), 3}, Data: fp32(values...)})
	return req
}

// text shows outputs as "NAME DATATYPE [shape] value value".
func text(tb testing.TB, resp *inference.ModelInferResponse) []string {
	tb.Helper()
	var lines []string
	for _, out := range resp.GetOutputs() {
		tensor, _ := oip.Output(resp, out.GetName())
		lines = append(lines, fmt.Sprintf("%s %s %s %s", tensor.Name, tensor.Datatype, oip.FormatShape(tensor.Shape), values(tb, tensor)))
	}
	return lines
}

func values(tb testing.TB, tensor oip.Tensor) string {
	tb.Helper()
	n, err := oip.Elements(tensor.Shape)
	if err != nil {
		tb.Fatal(err)
	}
	var words []string
	if tensor.Datatype == oip.Bytes {
		elements, err := oip.Strings(tensor.Data, n)
		if err != nil {
			tb.Fatal(err)
		}
		for _, e := range elements {
			words = append(words, string(e))
		}
		return strings.Join(words, " ")
	}
	if int64(len(tensor.Data)) != 4*n {
		tb.Fatalf("output %s has %d bytes for %d elements", tensor.Name, len(tensor.Data), n)
	}
	for i := range n {
		bits := binary.LittleEndian.Uint32(tensor.Data[4*i:])
		if tensor.Datatype == "FP32" {
			words = append(words, fmt.Sprintf("%.4g", math.Float32frombits(bits)))
			continue
		}
		words = append(words, fmt.Sprint(int32(bits)))
	}
	return strings.Join(words, " ")
}
