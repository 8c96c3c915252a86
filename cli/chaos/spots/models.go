package spots

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The ensembles, each of a step in preprocess, one in the predictor's simulator, and
// one in postprocess.
const (
	// Model answers.
	Model = "spot"
	// Slow takes a tenth of a second for a batch.
	Slow = "spot_slow"
	// Poisoned hangs with a batch that has the poisoned picture in it.
	Poisoned = "spot_poisoned"
	// Broken fails each time.
	Broken = "spot_broken"
	// Hanging never answers.
	Hanging = "spot_hanging"
)

const (
	preprocess = `backend: "image" max_batch_size: 16
input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "row" data_type: TYPE_FP32 dims: [ 1, 64, 1 ] } ]
parameters [ { key: "resize" value { string_value: "none" } }, { key: "crop" value { string_value: "none" } }, { key: "layout" value { string_value: "NHWC" } }, { key: "colors" value { string_value: "GREY" } } ]
`
	simulator = `backend: "simulator" max_batch_size: 16 dynamic_batching {}
input [ { name: "row" data_type: TYPE_FP32 dims: [ 1, 64, 1 ] } ]
output [ { name: "seen" data_type: TYPE_FP32 dims: [ 1, 64, 1 ] } ]
parameters [ { key: "echo" value { string_value: "true" } } %s ]
`
	postprocess = `backend: "classification" max_batch_size: 16
input [ { name: "seen" data_type: TYPE_FP32 dims: [ 1, 64, 1 ] } ]
output [ { name: "SCORE" data_type: TYPE_FP32 dims: [ 1 ] }, { name: "CLASS" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "LABEL" data_type: TYPE_STRING dims: [ 1 ] label_filename: "labels.txt" } ]
parameters [ { key: "activation" value { string_value: "none" } } ]
`
	ensemble = `platform: "ensemble" max_batch_size: 16
input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "LABEL" data_type: TYPE_STRING dims: [ 1 ] }, { name: "SCORE" data_type: TYPE_FP32 dims: [ 1 ] }, { name: "CLASS" data_type: TYPE_INT32 dims: [ 1 ] } ]
ensemble_scheduling { step [
  { model_name: "spot_preprocess" model_version: -1 input_map { key: "IMAGE" value: "IMAGE" } output_map { key: "row" value: "row" } },
  { model_name: "%s_model" model_version: -1 input_map { key: "row" value: "row" } output_map { key: "seen" value: "seen" } },
  { model_name: "spot_postprocess" model_version: -1 input_map { key: "seen" value: "seen" }
    output_map { key: "LABEL" value: "LABEL" } output_map { key: "SCORE" value: "SCORE" } output_map { key: "CLASS" value: "CLASS" } } ] }
`
)

// Repository writes a repository of the models and gives its folder.
func Repository(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	write := func(model, file, text string) {
		path := filepath.Join(dir, model, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a test's folder
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	write("spot_preprocess", "config.pbtxt", preprocess)
	write("spot_postprocess", "config.pbtxt", postprocess)
	write("spot_postprocess", "labels.txt", labels())
	for name, parameters := range map[string][]string{
		Model:    {"fixed_us", "3000"},
		Slow:     {"fixed_us", "100000"},
		Poisoned: {"poison", strconv.Itoa(int(PoisonByte())), "fail_with", "hang"},
		Broken:   {"fail_every", "1"},
		Hanging:  {"fail_every", "1", "fail_with", "hang"},
	} {
		write(name+"_model", "config.pbtxt", fmt.Sprintf(simulator, list(parameters)))
		write(name, "config.pbtxt", fmt.Sprintf(ensemble, name))
	}
	return dir
}

func list(parameters []string) string {
	var b strings.Builder
	for i := 0; i < len(parameters); i += 2 {
		fmt.Fprintf(&b, ", { key: %q value { string_value: %q } }", parameters[i], parameters[i+1])
	}
	return b.String()
}

func labels() string {
	var b strings.Builder
	for i := range Width {
		fmt.Fprintf(&b, "spot %d\n", i)
	}
	return b.String()
}
