package predictor_test

import "testing"

// Section 1.8: what real files are written with, and what is wrong with some.
// The parser's own table is in modelconfig.
func TestOddText(t *testing.T) {
	full := "max_batch_size: 2 dynamic_batching { } " + xy
	judge(t, map[string]oddity{
		"comments":               {config: "# batches\nmax_batch_size: 2 # two\n#", verdict: loads, completed: full},
		"angle brackets":         {config: "input < name: \"x\" data_type: TYPE_FP32 dims: 3 > max_batch_size: 2", verdict: loads, completed: full},
		"colons before braces":   {config: "dynamic_batching: { } max_batch_size: 2", verdict: loads, completed: full},
		"lists of messages":      {config: "input: [ { name: \"x\" data_type: TYPE_FP32 dims: [ 3 ] } ], output [ < name: \"y\" data_type: TYPE_FP32 dims: [ 3 ] > ]; max_batch_size: 2, dynamic_batching { }", verdict: loads, completed: full},
		"separators":             {config: "max_batch_size: 2; dynamic_batching { },", verdict: loads, completed: full},
		"adjacent strings":       {config: "name: \"\" 'm' max_batch_size: 2", verdict: loads, completed: full},
		"escapes":                {config: `name: "\155" max_batch_size: 2`, verdict: loads, completed: full},
		"enums by number":        {config: "input { name: 'x' data_type: 11 dims: 3 } max_batch_size: 2", verdict: loads, completed: full},
		"hexadecimal":            {config: "max_batch_size: 0x2", verdict: loads, completed: full},
		"true, True, t, 1":       {config: "max_batch_size: 2 response_cache { enable: t } dynamic_batching { preserve_ordering: True }", verdict: loads},
		"a byte order mark":      {config: "\uFEFFmax_batch_size: 2", verdict: loads, completed: full},
		"CR LF":                  {config: "max_batch_size: 2\r\n# end\r\n", verdict: loads, completed: full},
		"parameters as a list":   {config: "max_batch_size: 2 parameters: [ { key: \"intra_op_thread_count\" value: { string_value: \"1\" } } ]", verdict: loads},
		"an unknown field":       {config: "max_batch_size: 2\n  instance_groups { count: 2 }", verdict: unclaimed(`m/config.pbtxt:2:3: unknown field: instance_groups, did you mean "instance_group"?`)},
		"an unknown inner field": {config: "input {\n name: \"x\"\n dim: 3 }", verdict: unclaimed(`m/config.pbtxt:3:2: unknown field: dim, did you mean "dims"?`)},
		"a field of another age": {config: "max_batchsize: 2", verdict: unclaimed(`m/config.pbtxt:1:1: unknown field: max_batchsize, did you mean "max_batch_size"?`)},
		"a field twice":          {config: "max_batch_size: 2\nmax_batch_size: 4", verdict: unclaimed(`m/config.pbtxt:2:1: non-repeated field "max_batch_size" is repeated`)},
		"two schedulers":         {config: "dynamic_batching { }\nsequence_batching { }", verdict: unclaimed(`m/config.pbtxt:2:1: error parsing "sequence_batching", oneof inference.ModelConfig.scheduling_choice is already set`)},
		"an enum nobody knows":   {config: "input { name: \"x\"\n data_type: TYPE_FLOAT32 }", verdict: unclaimed(`m/config.pbtxt:2:13: invalid value for enum type: TYPE_FLOAT32`)},
		"an enum by any number":  {config: "max_batch_size: 2 input { name: \"x\" dims: 3\n data_type: 99 }", verdict: refused(`m/config.pbtxt:2:2: data_type is 99, which is none of its values`)},
		"yes is no bool":         {config: "response_cache { enable: yes }", verdict: unclaimed(`m/config.pbtxt:1:26: invalid value for bool type: yes`)},
		"a number in quotes":     {config: "max_batch_size: \"2\"", verdict: unclaimed(`m/config.pbtxt:1:17: invalid value for int32 type: "2"`)},
		"a number too large":     {config: "max_batch_size: 2147483648", verdict: unclaimed(`m/config.pbtxt:1:17: invalid value for int32 type: 2147483648`)},
		"half a number":          {config: "max_batch_size: 2.5", verdict: unclaimed(`m/config.pbtxt:1:17: invalid value for int32 type: 2.5`)},
		"a list's last comma":    {config: "input { dims: [ 3, ] }", verdict: unclaimed(`m/config.pbtxt:1:20: invalid scalar value: ]`)},
		"an open brace":          {config: "input {\n name: \"x\"", verdict: unclaimed(`m/config.pbtxt:2:11: the text ends too early: a brace, a bracket or a quote is open`)},
		"JSON":                   {config: "{ \"max_batch_size\": 2 }", verdict: unclaimed(`m/config.pbtxt:1:1: invalid field name: {`)},
		"a file of zeros":        {config: "\x00\x00\x00\x00", verdict: unclaimed("m/config.pbtxt:1:1: invalid field name: \x00")},
	})
}
