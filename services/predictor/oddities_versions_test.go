package predictor_test

import "testing"

// Sections 1.5 and 3: folders of versions and the policy.
func TestOddVersions(t *testing.T) {
	versions := func(names ...string) map[string]string {
		files := map[string]string{}
		for _, name := range names {
			files["m/"+name+"/model.onnx"] = "@identity_fp32"
		}
		return files
	}
	judge(t, map[string]oddity{
		"REP-05 9 and 10":                   {model: "-", more: versions("9", "10"), verdict: "m/10 READY"},
		"REP-05 01":                         {more: versions("01"), verdict: loads},
		"REP-05 v2":                         {more: versions("v2"), verdict: loads},
		"REP-05 2.bak":                      {more: versions("2.bak"), verdict: loads},
		"REP-05 latest":                     {more: versions("latest"), verdict: loads},
		"REP-05 0":                          {more: versions("0"), verdict: loads},
		"REP-05 -2 and +2":                  {more: versions("-2", "+2"), verdict: loads},
		"REP-05 2 in other digits":          {more: versions("٢"), verdict: loads},
		"REP-05 beyond 64 bits":             {more: versions("9223372036854775808"), verdict: loads},
		"the largest number":                {more: versions("9223372036854775807"), verdict: "m/9223372036854775807 READY"},
		"REP-05 a file called 3":            {more: map[string]string{"m/3": "notes"}, verdict: loads},
		"REP-05 an empty version 2":         {more: map[string]string{"m/2/": ""}, verdict: `m/2 UNAVAILABLE model "m": there is no file model.onnx in m/2`},
		"an empty version 2, all":           {config: "version_policy { all { } }", more: map[string]string{"m/2/": ""}, verdict: loads + "\n" + `m/2 UNAVAILABLE model "m": there is no file model.onnx in m/2`},
		"REP-05 a linked version":           {more: map[string]string{"m/release/model.onnx": "@identity_fp32", "m/2": "-> release"}, verdict: "m/2 READY"},
		"REP-05 a link to nowhere":          {more: map[string]string{"m/2": "-> gone"}, verdict: loads},
		"REP-05 a link to a version":        {more: map[string]string{"m/stable": "-> 1"}, verdict: loads},
		"a linked model file":               {model: "-", more: map[string]string{"files/net.onnx": "@identity_fp32", "m/1/model.onnx": "-> ../../files/net.onnx"}, verdict: `files: files/config.pbtxt: neither a backend nor a platform is given, and no model file tells which` + "\n" + loads},
		"no version":                        {config: `backend: "onnxruntime"`, model: "-", verdict: refused(`model "m": there is no file model.onnx in m/1`)},
		"REP-05 names that are no versions": {config: `backend: "onnxruntime"`, model: "-", more: versions("01", "v2"), verdict: refused(`model "m": there is no file model.onnx in m/1; "01" is no version: those are whole numbers above 0 without a leading 0`)},
		"the file beside the versions":      {config: `backend: "onnxruntime"`, model: "-", more: map[string]string{"m/model.onnx": "@identity_fp32"}, verdict: refused(`model "m": there is no file model.onnx in m/1`)},

		"latest by default":       {more: versions("2", "3"), verdict: "m/3 READY"},
		"latest 2":                {config: "version_policy: { latest: { num_versions: 2 } }", more: versions("2", "3"), verdict: "m/2 READY\nm/3 READY"},
		"latest without a number": {config: "version_policy { latest { } }", more: versions("2"), verdict: "m/2 READY"},
		"latest, more than there": {config: "version_policy { latest { num_versions: 4294967295 } }", more: versions("2"), verdict: "m/1 READY\nm/2 READY"},
		"latest below 0":          {config: "version_policy { latest { num_versions: -1 } }", verdict: unclaimed(`m/config.pbtxt:1:41: invalid value for uint32 type: -1`)},
		"all":                     {config: "version_policy: { all {}}", more: versions("2", "10"), verdict: "m/1 READY\nm/2 READY\nm/10 READY"},
		"specific":                {config: "version_policy: { specific: { versions: [1,3]}}", more: versions("2", "3"), verdict: "m/1 READY\nm/3 READY"},
		"specific, twice":         {config: "version_policy { specific { versions: 1 versions: 1 } }", verdict: loads},
		"specific, absent":        {config: "version_policy { specific { versions: [ 1, 7 ] } }", verdict: loads + "\n" + `m/7 UNAVAILABLE version 7 of model "m" is not in its folder`},
		"specific, none":          {config: "version_policy { specific { } }", verdict: `m/ UNAVAILABLE the version_policy of model "m" picks no version`},
		"specific, 0":             {config: "version_policy {\n specific { versions: [ 1, 0 ] } }", verdict: `m/0 UNAVAILABLE version 0 of model "m" is not in its folder` + "\n" + `m/1 UNAVAILABLE m/config.pbtxt:2:13: version_policy names the version 0, must be 1 or more`},
		"an empty policy":         {config: "version_policy { }", more: versions("2"), verdict: "m/2 READY"},
		"two policies":            {config: "version_policy { all { }\n latest { } }", verdict: unclaimed(`m/config.pbtxt:2:2: error parsing "latest", oneof inference.ModelVersionPolicy.policy_choice is already set`)},
		"one of two is broken":    {config: "version_policy { all { } }", more: map[string]string{"m/2/model.onnx": "@future_ir"}, verdict: loads + "\n" + `m/2 UNAVAILABLE model "m": model.onnx can't be loaded: it has IR version 99, ONNX Runtime V takes up to 13 (written by triptych)`},
		"versions that differ":    {config: "version_policy { all { } }", more: map[string]string{"m/2/model.onnx": "@identity_int32"}, verdict: "m/1 READY\nm/2 READY"},
	})
}

// Section 1.4: instance groups. What one session can't do is said.
func TestOddInstances(t *testing.T) {
	judge(t, map[string]oddity{
		"count 0 is the default": {config: "instance_group { count: 0 }", verdict: loads},
		"KIND_AUTO":              {config: "instance_group [ { kind: KIND_AUTO } ]", verdict: loads},
		"KIND_CPU":               {config: "instance_group [ { name: \"cpu\" kind: KIND_CPU count: 3 } ]", verdict: loads},
		"KIND_MODEL":             {config: "instance_group { kind: KIND_MODEL }", verdict: loads},
		"gpus with KIND_CPU":     {config: "instance_group [ {\n kind: KIND_CPU\n gpus: 0 } ]", verdict: refused(`m/config.pbtxt:3:2: instance_group of KIND_CPU can't name gpus`)},
		"gpus with KIND_MODEL":   {config: "instance_group { kind: KIND_MODEL gpus: [ 0, 1 ] }", verdict: refused(`m/config.pbtxt:1:35: instance_group of KIND_MODEL can't name gpus`)},
		"a count below 0":        {config: "instance_group { count: -2 }", verdict: refused(`m/config.pbtxt:1:18: instance_group has the count -2, must be 0 or more`)},
		"a count of words":       {config: "instance_group { count: two }", verdict: unclaimed(`m/config.pbtxt:1:25: invalid value for int32 type: two`)},
		"resources":              {config: "instance_group {\n rate_limiter { resources { name: \"R\" global: true count: 4 } } }", verdict: refused(`m/config.pbtxt:2:17: rate_limiter with resources is not supported`)},
		"a priority":             {config: "instance_group { rate_limiter { priority: 2 } }", verdict: loads},
		"secondary_devices":      {config: "instance_group { secondary_devices { kind: KIND_NVDLA } }", verdict: refused(`m/config.pbtxt:1:18: secondary_devices is not supported`)},
		"host_policy":            {config: "instance_group { host_policy: \"numa_0\" }", verdict: loads},
	})
}
