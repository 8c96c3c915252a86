package modelconfig_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

const richConfig = `
name: "rich" platform: "ensemble" max_batch_size: 8
version_policy { specific { versions: [ 1, 9007199254740993 ] } }
input [ { name: "I" data_type: TYPE_UINT8 format: FORMAT_NHWC dims: [ -1, 2, 3 ] reshape { shape: [ ] } } ]
output { name: "O<&>\"" data_type: TYPE_BF16 dims: 1 }
instance_group { count: 2 kind: KIND_CPU }
dynamic_batching {
  max_queue_delay_microseconds: 18446744073709551615
  priority_queue_policy { key: 10 value { timeout_action: DELAY } }
  priority_queue_policy { key: 9 value { } }
}
parameters { key: "b" value { string_value: "2" } }
parameters { key: "a" value { string_value: "1" } }
model_warmup { name: "w" inputs { key: "I" value { data_type: TYPE_UINT8 zero_data: true } } }
model_transaction_policy { }
model_metrics { metric_control { histogram_options { buckets: [ 0.5, 100 ] } } }
`

const richJSON = `{"name":"rich","platform":"ensemble","version_policy":{"specific":{"versions":[1,9007199254740993]}},"max_batch_size":8,` +
	`"input":[{"name":"I","data_type":"TYPE_UINT8","format":"FORMAT_NHWC","dims":[-1,2,3],"reshape":{"shape":[]},"is_shape_tensor":false,"allow_ragged_batch":false,"optional":false,"is_non_linear_format_io":false}],` +
	`"output":[{"name":"O\u003c\u0026\u003e\"","data_type":"TYPE_BF16","dims":[1],"label_filename":"","is_shape_tensor":false,"is_non_linear_format_io":false}],` +
	`"instance_group":[{"name":"","count":2,"gpus":[],"kind":"KIND_CPU","profile":[],"passive":false,"secondary_devices":[],"host_policy":""}],` +
	`"default_model_filename":"","cc_model_filenames":{},"metric_tags":{},` +
	`"dynamic_batching":{"preferred_batch_size":[],"max_queue_delay_microseconds":18446744073709551615,"preserve_ordering":false,"priority_levels":0,"default_priority_level":0,"priority_queue_policy":{` +
	`"9":{"timeout_action":"REJECT","default_timeout_microseconds":0,"allow_timeout_override":false,"max_queue_size":0},` +
	`"10":{"timeout_action":"DELAY","default_timeout_microseconds":0,"allow_timeout_override":false,"max_queue_size":0}}},` +
	`"parameters":{"a":{"string_value":"1"},"b":{"string_value":"2"}},` +
	`"model_warmup":[{"name":"w","batch_size":0,"inputs":{"I":{"data_type":"TYPE_UINT8","dims":[],"zero_data":true}},"count":0}],` +
	`"backend":"","model_transaction_policy":{"decoupled":false},"batch_input":[],"batch_output":[],"runtime":"",` +
	`"model_metrics":{"metric_control":[{"histogram_options":{"buckets":[0.5,100]}}]}}`

func TestMarshalJSON(t *testing.T) {
	cfg, err := modelconfig.ParseText("config.pbtxt", []byte(richConfig))
	if err != nil {
		t.Fatal(err)
	}
	got, err := modelconfig.MarshalJSON(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(richJSON, string(got)); d != "" {
		t.Error(d)
	}
	back, err := modelconfig.ParseJSON("load", got)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(cfg, back, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

func TestMarshalJSONOfNothing(t *testing.T) {
	for name, cfg := range map[string]*inference.ModelConfig{"nil": nil, "empty": {}} {
		if got, err := modelconfig.MarshalJSON(cfg); err != nil || !json.Valid(got) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestMarshalJSONRefusesNonFinite(t *testing.T) {
	cfg := &inference.ModelConfig{ModelMetrics: &inference.ModelMetrics{MetricControl: []*inference.ModelMetrics_MetricControl{{
		MetricOptions: &inference.ModelMetrics_MetricControl_HistogramOptions_{
			HistogramOptions: &inference.ModelMetrics_MetricControl_HistogramOptions{Buckets: []float64{math.Inf(1)}},
		},
	}}}}
	if _, err := modelconfig.MarshalJSON(cfg); failure.KindOf(err) != failure.Internal {
		t.Error(err)
	}
}
