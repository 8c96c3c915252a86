package modelconfig_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// Every value of every enum, where a configuration has it.
var enums = map[string]protoreflect.EnumDescriptor{
	`input { data_type: %v }`:                                          inference.DataType(0).Descriptor(),
	`output { data_type: %v }`:                                         inference.DataType(0).Descriptor(),
	`input { format: %v }`:                                             inference.ModelInput_Format(0).Descriptor(),
	`instance_group { kind: %v }`:                                      inference.ModelInstanceGroup_Kind(0).Descriptor(),
	`instance_group { secondary_devices { kind: %v } }`:                inference.ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind(0).Descriptor(),
	`dynamic_batching { default_queue_policy { timeout_action: %v } }`: inference.ModelQueuePolicy_TimeoutAction(0).Descriptor(),
	`dynamic_batching { priority_queue_policy { key: 1 value { timeout_action: %v } } }`: inference.ModelQueuePolicy_TimeoutAction(0).Descriptor(),
	`optimization { priority: %v }`:                                inference.ModelOptimizationPolicy_ModelPriority(0).Descriptor(),
	`model_warmup { inputs { key: "x" value { data_type: %v } } }`: inference.DataType(0).Descriptor(),
	`batch_input { kind: %v }`:                                     inference.BatchInput_Kind(0).Descriptor(),
	`batch_output { kind: %v }`:                                    inference.BatchOutput_Kind(0).Descriptor(),
	`sequence_batching { control_input { control { kind: %v } } }`: inference.ModelSequenceBatching_Control_Kind(0).Descriptor(),
	`sequence_batching { state { data_type: %v } }`:                inference.DataType(0).Descriptor(),
}

func TestEnumsByNumber(t *testing.T) {
	for text, enum := range enums {
		for i := range enum.Values().Len() {
			value := enum.Values().Get(i)
			byName, err := modelconfig.ParseText("f", fmt.Appendf(nil, text, value.Name()))
			if err != nil {
				t.Fatal(err)
			}
			byNumber, err := modelconfig.ParseText("f", fmt.Appendf(nil, text, value.Number()))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(byName, byNumber, protocmp.Transform()); diff != "" {
				t.Errorf("%s of %s: %s", text, value.Name(), diff)
			}
		}
	}
}

// A number that no name has passes the text format, so the check refuses it.
func TestEnumsWithoutName(t *testing.T) {
	for text, message := range map[string]string{
		"input {\n name: \"x\" dims: 1\n data_type: 99 }": "config.pbtxt:3:2: data_type is 99, which is none of its values",
		"instance_group [ { }, {\n kind: 4 } ]":           "config.pbtxt:2:2: kind is 4, which is none of its values",
		"max_batch_size: 1 dynamic_batching { priority_levels: 1 default_priority_level: 1\n priority_queue_policy { key: 1 value { timeout_action: -1 } } }": "config.pbtxt:2:2: timeout_action is -1, which is none of its values",
		"optimization { priority: 3 }": "config.pbtxt:1:16: priority is 3, which is none of its values",
	} {
		wantFailure(t, checkText(t, text), failure.Invalid, message)
	}
}

// Triton's JSON form takes the names of enums in any case.
func TestParseJSONEnums(t *testing.T) {
	const large = "9007199254740993" // not a float64
	got, err := modelconfig.ParseJSON("config", []byte(`{
		"input": [ {"name": "type_fp32", "data_type": "type_fp32", "format": "Format_NCHW", "dims": [3, `+large+`]} ],
		"instance_group": [ {"kind": "kind_cpu"} ],
		"dynamic_batching": {"priority_queue_policy": {"1": {"timeout_action": "delay", "default_timeout_microseconds": "`+large+`"}}},
		"model_warmup": [ {"inputs": {"x": {"data_type": "TYPE_int8"}}} ],
		"parameters": {"kind": {"string_value": "kind_cpu"}}, "metric_tags": {"a": "kind_cpu"} }`))
	if err != nil {
		t.Fatal(err)
	}
	want, err := modelconfig.ParseText("want", []byte(`
		input { name: "type_fp32" data_type: TYPE_FP32 format: FORMAT_NCHW dims: [ 3, `+large+` ] } instance_group { kind: KIND_CPU }
		dynamic_batching { priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: `+large+` } } }
		model_warmup { inputs { key: "x" value { data_type: TYPE_INT8 } } }
		parameters { key: "kind" value { string_value: "kind_cpu" } } metric_tags { key: "a" value: "kind_cpu" }`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	_, err = modelconfig.ParseJSON("config", []byte("{\"input\": [\n{\"data_type\": \"type_float\"}]}"))
	wantFailure(t, err, failure.Invalid, `config:2:15: invalid value for enum field dataType: "type_float"`)
}
