package predictor_test

import "testing"

// Section 1.6: batching and queues.
func TestOddBatching(t *testing.T) {
	dynamic := func(fields string) string {
		return "max_batch_size: 8\n" + xy + "\ndynamic_batching {\n " + fields + " }"
	}
	judge(t, map[string]oddity{
		"empty":                               {config: dynamic(""), verdict: loads},
		"max_batch_size below 0":              {config: "\nmax_batch_size: -1", verdict: refused(`m/config.pbtxt:2:1: max_batch_size is -1, must be 0 or more`)},
		"max_batch_size 1, dynamic":           {config: "max_batch_size: 1 dynamic_batching { } " + xy, verdict: loads},
		"preferred":                           {config: dynamic("preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100"), verdict: loads},
		"preferred above the most":            {config: dynamic("preferred_batch_size: [ 4, 16 ]"), verdict: refused(`m/config.pbtxt:4:2: preferred_batch_size 16 must be from 1 to max_batch_size, which is 8`)},
		"preferred 0":                         {config: dynamic("preferred_batch_size: 0"), verdict: refused(`m/config.pbtxt:4:2: preferred_batch_size 0 must be from 1 to max_batch_size, which is 8`)},
		"preferred, completed":                {config: "dynamic_batching {\n preferred_batch_size: 8 }", verdict: refused(`m/config.pbtxt:2:2: preferred_batch_size 8 must be from 1 to max_batch_size, which is 4`)},
		"a delay of a day":                    {config: dynamic("max_queue_delay_microseconds: 86400000000"), verdict: loads},
		"preserve_ordering":                   {config: dynamic("preserve_ordering: true"), verdict: loads},
		"levels":                              {config: dynamic("priority_levels: 2 default_priority_level: 2"), verdict: loads},
		"levels, no default":                  {config: dynamic("priority_levels: 2"), verdict: refused(`m/config.pbtxt:3:1: default_priority_level is 0, must be from 1 to priority_levels, which is 2`)},
		"levels, default above":               {config: dynamic("priority_levels: 2\n default_priority_level: 3"), verdict: refused(`m/config.pbtxt:5:2: default_priority_level is 3, must be from 1 to priority_levels, which is 2`)},
		"a policy for a level":                {config: dynamic("priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 2 value { timeout_action: DELAY default_timeout_microseconds: 5 allow_timeout_override: true max_queue_size: 3 } }"), verdict: loads},
		"a policy for no level":               {config: dynamic("priority_levels: 2 default_priority_level: 1\n priority_queue_policy { key: 3 value { } }"), verdict: refused(`m/config.pbtxt:5:2: priority_queue_policy is for level 3, but priority_levels is 2`)},
		"a policy for level 0":                {config: dynamic("priority_levels: 2 default_priority_level: 1\n priority_queue_policy { key: 0 value { } }"), verdict: refused(`m/config.pbtxt:5:2: priority_queue_policy is for level 0, but priority_levels is 2`)},
		"a policy for two, no levels":         {config: dynamic("priority_queue_policy { key: 1 value { } }"), verdict: refused(`m/config.pbtxt:4:2: priority_queue_policy is for level 1, but priority_levels is 0`)},
		"preserve_ordering, levels":           {config: dynamic("priority_levels: 2 default_priority_level: 1\n preserve_ordering: true"), verdict: refused(`m/config.pbtxt:5:2: preserve_ordering can't go with 2 priority_levels`)},
		"preserve_ordering, DELAY":            {config: dynamic("default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1 }\n preserve_ordering: true"), verdict: refused(`m/config.pbtxt:5:2: preserve_ordering can't go with a timeout_action of DELAY`)},
		"preserve_ordering, DELAY in a level": {config: dynamic("priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 1 } }\n preserve_ordering: true"), verdict: refused(`m/config.pbtxt:5:2: preserve_ordering can't go with a timeout_action of DELAY`)},
		"preserve_ordering, DELAY 0":          {config: dynamic("preserve_ordering: true default_queue_policy { timeout_action: DELAY }"), verdict: loads},
		"REJECT by number":                    {config: dynamic("default_queue_policy { timeout_action: 0 max_queue_size: 1 }"), verdict: loads},
	})
}

// What is not there is refused by its name.
func TestOddUnsupported(t *testing.T) {
	judge(t, map[string]oddity{
		"sequence_batching":       {config: "max_batch_size: 8\nsequence_batching { max_sequence_idle_microseconds: 5 direct { } }", verdict: refused(`m/config.pbtxt:2:1: sequence_batching is not supported`)},
		"decoupled":               {config: "model_transaction_policy { decoupled: true }", verdict: refused(`m/config.pbtxt:1:1: model_transaction_policy is not supported`)},
		"not decoupled":           {config: "model_transaction_policy { decoupled: False }", verdict: loads},
		"batch_input":             {config: "batch_input [ { kind: BATCH_ELEMENT_COUNT target_name: \"n\" data_type: TYPE_FP32 source_input: \"x\" } ]", verdict: refused(`m/config.pbtxt:1:15: batch_input is not supported`)},
		"batch_output":            {config: "batch_output { target_name: \"y\" source_input: \"x\" }", verdict: refused(`m/config.pbtxt:1:1: batch_output is not supported`)},
		"model_repository_agents": {config: "model_repository_agents { agents [ { name: \"checksum\" } ] }", verdict: refused(`m/config.pbtxt:1:1: model_repository_agents is not supported`)},
		"no agents":               {config: "model_repository_agents { }", verdict: loads},
		"model_operations":        {config: "model_operations { op_library_filename: \"libops.so\" }", verdict: refused(`m/config.pbtxt:1:1: model_operations is not supported`)},
		"a custom batch strategy": {config: "\nparameters { key: \"TRITON_BATCH_STRATEGY_PATH\" value { string_value: \"/s.so\" } }", verdict: refused(`m/config.pbtxt:2:1: the parameter TRITON_BATCH_STRATEGY_PATH is not supported`)},
		"an unknown parameter":    {config: "parameters { key: \"intra_op_threads\" value { string_value: \"2\" } }", verdict: refused(`m/config.pbtxt:1:1: model "m": unknown parameter "intra_op_threads", did you mean "intra_op_thread_count"?`)},
		"a parameter's value":     {config: "parameters { key: \"intra_op_thread_count\" value { string_value: \"many\" } }", verdict: refused(`m/config.pbtxt:1:1: model "m": parameter "intra_op_thread_count": is "many", must be a whole number from 0 to 1024`)},
	})
}

// Section 1.10: what is filled in, and what not.
func TestOddCompletion(t *testing.T) {
	full := "max_batch_size: 4 dynamic_batching { } " + xy
	judge(t, map[string]oddity{
		"nothing given":              {verdict: loads, completed: full},
		"max_batch_size given":       {config: "max_batch_size: 16", verdict: loads, completed: "max_batch_size: 16 dynamic_batching { } " + xy},
		"max_batch_size 1 given":     {config: "max_batch_size: 1", verdict: loads, completed: "max_batch_size: 1 " + xy},
		"a scheduler given":          {config: "dynamic_batching { max_queue_delay_microseconds: 9 }", verdict: loads, completed: "max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 9 } " + xy},
		"an input given":             {config: x, verdict: loads, completed: full},
		"an output given":            {config: y, verdict: loads, completed: full},
		"an input with its batch":    {config: `input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] }`, verdict: loads, completed: `input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] } output { name: "y" data_type: TYPE_FP32 dims: [ -1, 3 ] }`},
		"both given, no batch size":  {config: `input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] } output { name: "y" data_type: TYPE_FP32 dims: [ -1, 3 ] }`, verdict: loads, completed: `input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] } output { name: "y" data_type: TYPE_FP32 dims: [ -1, 3 ] }`},
		"both given, no scheduler":   {config: "max_batch_size: 8 " + xy, verdict: loads, completed: "max_batch_size: 8 " + xy},
		"half an input given":        {config: "max_batch_size: 8\ninput { name: \"x\" }", verdict: refused(`m/config.pbtxt:2:1: input "x" has no data_type`)},
		"an input's name, no dims":   {config: "max_batch_size: 8\ninput { name: \"x\" data_type: TYPE_FP32 }", verdict: refused(`m/config.pbtxt:2:1: input "x" has no dims`)},
		"other fields stay":          {config: "metric_tags { key: \"a\" value: \"b\" } instance_group { count: 1 }", verdict: loads, completed: full + "metric_tags { key: \"a\" value: \"b\" } instance_group { count: 1 }"},
		"a tensor without more dims": {model: "vector", verdict: loads, completed: `max_batch_size: 4 dynamic_batching { } input { name: "x" data_type: TYPE_FP32 dims: 1 reshape { } } output { name: "y" data_type: TYPE_FP32 dims: 1 reshape { } }`},
		"no shape in the file":       {model: "scalar_output", verdict: refused(`model "m": the file does not say the shape of "y": give input and output in the configuration`)},
		"a model that can't batch":   {model: "unbatched", verdict: loads, completed: `input { name: "x" data_type: TYPE_FP32 dims: [ 2, 3 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 3, 2 ] }`},
		"an output that can't batch": {model: "batch_last", verdict: loads, completed: `input { name: "x" data_type: TYPE_FP32 dims: [ -1, 1000 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 1000, -1 ] }`},
		"can't batch, a delay given": {model: "unbatched", config: "\ndynamic_batching { max_queue_delay_microseconds: 9 }", verdict: refused(`m/config.pbtxt:2:1: dynamic_batching needs a max_batch_size of 1 or more, but it is 0: give one, or leave dynamic_batching out`)},
	})
}

// Section 1.7: warm-up.
func TestOddWarmUp(t *testing.T) {
	warm := func(sample string) string { return xy + "max_batch_size: 2\nmodel_warmup [ { " + sample + " } ]" }
	judge(t, map[string]oddity{
		"zeros":                   {config: warm(`name: "zeros" batch_size: 2 inputs { key: "x" value { data_type: TYPE_FP32 dims: 3 zero_data: true } }`), verdict: loads},
		"random":                  {config: warm(`batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 3 random_data: true } } count: 2`), verdict: loads},
		"a batch of 0 is skipped": {config: warm(`batch_size: 0 inputs { key: "nobody" value { } }`), verdict: loads},
		"a file":                  {config: warm(`batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 3 input_data_file: "x" } }`), more: map[string]string{"m/warmup/x": "0123456789ab"}, verdict: loads},
		"a file above":            {config: warm(`name: "f" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 3 input_data_file: "../x" } }`), verdict: refused(`warm-up: model_warmup "f": input "x": the file "../x" leaves the folder warmup`)},
		"an input missing":        {config: warm(`name: "none" batch_size: 1`), verdict: refused(`warm-up: model "m": model_warmup "none" lacks input "x"`)},
		"another datatype":        {config: warm(`name: "ints" batch_size: 1 inputs { key: "x" value { data_type: TYPE_INT32 dims: 3 zero_data: true } }`), verdict: refused(`warm-up: model "m": model_warmup "ints": input "x" is INT32 [1,3], the model takes FP32 [-1,3]`)},
		"two kinds of data":       {config: warm(`batch_size: 1 inputs { key: "x" value { zero_data: true random_data: true } }`), verdict: unclaimed(`m/config.pbtxt:2:74: error parsing "random_data", oneof inference.ModelWarmup.Input.input_data_type is already set`)},
	})
}
