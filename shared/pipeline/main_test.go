package pipeline_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/prototext"

	"triptych/proto/inference"
	"triptych/shared/pipeline"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// config reads a configuration. Its name is "graph".
func config(tb testing.TB, text string) *inference.ModelConfig {
	tb.Helper()
	cfg := &inference.ModelConfig{}
	if err := prototext.Unmarshal([]byte(text), cfg); err != nil {
		tb.Fatal(err)
	}
	cfg.Name = "graph"
	return cfg
}

func compile(tb testing.TB, text string) *pipeline.Plan {
	tb.Helper()
	p, err := pipeline.Compile(config(tb, text))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// chain is IN -> a -> b -> c -> OUT, with other names inside.
const chain = `
max_batch_size: 4
input { name: "IN" data_type: TYPE_FP32 dims: 2 }
output { name: "OUT" data_type: TYPE_FP32 dims: 2 }
ensemble_scheduling {
  step { model_name: "c" model_version: 7 input_map { key: "z" value: "second" } output_map { key: "y" value: "OUT" } }
  step { model_name: "a" model_version: -1 input_map { key: "x" value: "IN" } output_map { key: "y" value: "first" } }
  step { model_name: "b" model_version: -1 input_map { key: "x" value: "first" } output_map { key: "y" value: "second" } }
}`

// diamond is IN -> top -> left, right -> bottom -> OUT; IN goes to bottom as well,
// and left is an output of the ensemble too.
const diamond = `
max_batch_size: 4
input { name: "IN" data_type: TYPE_FP32 dims: 2 }
output [ { name: "OUT" data_type: TYPE_FP32 dims: 2 }, { name: "l" data_type: TYPE_FP32 dims: 2 } ]
ensemble_scheduling {
  step { model_name: "top" model_version: -1 input_map { key: "x" value: "IN" } output_map { key: "y" value: "t" } }
  step { model_name: "left" model_version: -1 input_map { key: "x" value: "t" } output_map { key: "y" value: "l" } }
  step { model_name: "right" model_version: -1 input_map { key: "x" value: "t" } output_map { key: "y" value: "r" } }
  step { model_name: "bottom" model_version: -1
    input_map [ { key: "l" value: "l" }, { key: "r" value: "r" }, { key: "in" value: "IN" } ] output_map { key: "y" value: "OUT" } }
}`
