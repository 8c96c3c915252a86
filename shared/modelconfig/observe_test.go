package modelconfig_test

import (
	"strings"
	"testing"

	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

func TestMetricLabel(t *testing.T) {
	for key, want := range map[string]string{
		"team": "_team", "Cost_Center2": "_Cost_Center2", "my-tag": "_my_tag", "a.b/c": "_a_b_c", "_x": "_x", "__x": "_x", "größe": "_gr__e", "": "_", "9": "_9",
	} {
		if got := modelconfig.MetricLabel(key); got != want {
			t.Errorf("%q is %q, want %q", key, got, want)
		}
	}
}

func TestCheckMetrics(t *testing.T) {
	tests := map[string]struct{ text, message string }{
		"tags":     {`metric_tags { key: "a" value: "1" } metric_tags { key: "b" value: "2" }`, ""},
		"one name": {"metric_tags { key: \"a-b\" value: \"1\" }\nmetric_tags { key: \"a_b\" value: \"2\" }", `config.pbtxt:5:1: metric_tags "a-b" and "a_b" are both the label _a_b`},
		"buckets":  {"model_metrics { metric_control { metric_identifier { family: \"f\" } histogram_options { buckets: [ 0.5, 1, 10 ] } } }", ""},
		"no rise":  {"model_metrics { metric_control { histogram_options {\n buckets: [ 1, 1 ] } } }", "config.pbtxt:5:2: bucket 1 does not come after 1: buckets must rise"},
		"inf":      {"model_metrics { metric_control { histogram_options {\n buckets: [ 1, inf ] } } }", "config.pbtxt:5:2: bucket +Inf is not a number that times can be held against"},
		"nan":      {"model_metrics { metric_control { histogram_options {\n buckets: [ nan, 1 ] } } }", "config.pbtxt:5:2: bucket NaN is not a number that times can be held against"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { wantFailure(t, checkText(t, good+tt.text), failure.Invalid, tt.message) })
	}
}

// perf_analyzer stops at a response_cache or a model_transaction_policy without its
// truth value.
func TestMarshalJSONHasTheTruthValues(t *testing.T) {
	cfg, err := modelconfig.ParseText("config.pbtxt", []byte("response_cache { } model_transaction_policy { }"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := modelconfig.MarshalJSON(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"response_cache":{"enable":false}`, `"model_transaction_policy":{"decoupled":false}`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}
