package predictor_test

import "testing"

// Sections 1.2 and 1.9: names, backends, files.
func TestOddNames(t *testing.T) {
	judge(t, map[string]oddity{
		"no name":                         {config: xy + `max_batch_size: 2`, verdict: loads},
		"the name of the folder":          {config: `name: "m" ` + xy + `max_batch_size: 2`, verdict: loads},
		"another name":                    {config: "# copied\nname: \"resnet\"\n", verdict: unclaimed(`m/config.pbtxt:2:1: the model is called "resnet", but its directory "m"`)},
		"a name in other case":            {config: `name: "M"`, verdict: unclaimed(`m/config.pbtxt:1:1: the model is called "M", but its directory "m"`)},
		"an empty name":                   {config: `name: ""`, verdict: loads},
		"no config.pbtxt":                 {verdict: loads},
		"an empty config.pbtxt":           {config: " ", verdict: loads},
		"config.pbtxt is a folder":        {more: map[string]string{"m/config.pbtxt/": ""}, verdict: unclaimed(`m/config.pbtxt is not a file`)},
		"config.pbtxt is a dangling link": {more: map[string]string{"m/config.pbtxt": "-> nowhere"}, verdict: unclaimed(`m/config.pbtxt is a link to a file that is not there`)},
		"platform only":                   {config: `platform: "onnxruntime_onnx"`, verdict: loads},
		"backend only":                    {config: `backend: "onnxruntime"`, verdict: loads},
		"backend and platform":            {config: `backend: "onnxruntime" platform: "onnxruntime_onnx"`, verdict: loads},
		"they disagree":                   {config: "backend: \"onnxruntime\"\nplatform: \"tensorrt_plan\"", verdict: unclaimed(`m/config.pbtxt:1:1: backend "onnxruntime" does not go with platform "tensorrt_plan"`)},
		"a platform nobody knows":         {config: "\n platform: \"onnxruntime\"", verdict: unclaimed(`m/config.pbtxt:2:2: unknown platform "onnxruntime", did you mean "onnxruntime_onnx"?`)},
		"a backend nobody has":            {config: `backend: "onnxruntme"`, verdict: `m is left to the backend onnxruntme`},
		"another backend's":               {config: `platform: "pytorch_libtorch"`, verdict: `m is left to the backend pytorch`},
		"backend from the file":           {model: "-", more: map[string]string{"m/1/model.plan": "x"}, verdict: `m is left to the backend tensorrt`},
		"backend from the default file":   {config: `default_model_filename: "net.onnx"`, model: "-", more: map[string]string{"m/1/net.onnx": "@identity_fp32"}, verdict: loads},
		"backend from the folder's name":  {model: "-", more: map[string]string{"m.onnxruntime/1/": ""}, verdict: `m.onnxruntime/1 UNAVAILABLE model "m.onnxruntime": there is no file model.onnx in m.onnxruntime/1`},
		"nothing tells the backend":       {model: "-", more: map[string]string{"m/1/weights.bin": "x"}, verdict: unclaimed(`m/config.pbtxt: neither a backend nor a platform is given, and no model file tells which`)},
		"an ensemble with a backend":      {config: `platform: "ensemble" backend: "onnxruntime"`, verdict: unclaimed(`m/config.pbtxt:1:22: an ensemble has no backend, but this says "onnxruntime"`)},
		"an ensemble without steps":       {config: `platform: "ensemble"`, verdict: `m is left to the backend ensemble`},
		"steps without the platform":      {config: "backend: \"onnxruntime\"\nensemble_scheduling { }", verdict: refused(`m/config.pbtxt:2:1: ensemble_scheduling needs the platform "ensemble", it is "onnxruntime_onnx"`)},
		"default file that is absent":     {config: `default_model_filename: "net.onnx"`, verdict: refused(`model "m": there is no file net.onnx in m/1`)},
		"default file above":              {config: "max_batch_size: 2 " + xy + "\ndefault_model_filename: \"../../model.onnx\"", verdict: refused(`m/config.pbtxt:2:1: default_model_filename "../../model.onnx" leaves the version's directory`)},
		"default file in a folder":        {config: `default_model_filename: "onnx/net.onnx"`, model: "-", more: map[string]string{"m/1/onnx/net.onnx": "@identity_fp32"}, verdict: loads},
		"a folder called model.onnx":      {model: "-", more: map[string]string{"m/1/model.onnx/model.onnx": "@identity_fp32"}, verdict: loads},
		"an empty folder model.onnx":      {model: "-", more: map[string]string{"m/1/model.onnx/": ""}, verdict: refused(`model "m": there is no file model.onnx in m/1`)},
		"files by compute capability":     {config: `cc_model_filenames { key: "8.0" value: "ampere.onnx" } cc_model_filenames [ { key: "9.0" value: "hopper.onnx" } ]`, verdict: loads},
		"metric_tags":                     {config: `metric_tags { key: "team" value: "vision" }`, verdict: loads},
		"model_metrics":                   {config: `model_metrics { metric_control { metric_identifier { family: "nv_inference_first_response_histogram_ms" } histogram_options { buckets: [ 1, 2.5 ] } } }`, verdict: loads},
		"runtime":                         {config: `runtime: "onnxruntime"`, verdict: loads},
		"response_cache":                  {config: `response_cache { enable: true }`, verdict: loads},
		"optimization": {config: `optimization { graph { level: 1 } priority: PRIORITY_MAX cuda { graphs: true busy_wait_events: true output_copy_stream: true
			graph_spec { batch_size: 1 input { key: "x" value { dim: 3 } } graph_lower_bound { batch_size: 1 } } }
			input_pinned_memory { enable: false } output_pinned_memory { enable: true } gather_kernel_buffer_threshold: 1 eager_batching: true }`, verdict: loads},
		"a name with a blank": {model: "-", more: map[string]string{"my model/1/model.onnx": "@identity_fp32"}, verdict: "my model/1 READY"},
		"a name beyond ASCII": {model: "-", more: map[string]string{"größe/1/model.onnx": "@identity_fp32"}, verdict: "größe/1 READY"},
		"a label file above":  {config: "max_batch_size: 2 " + x + "\noutput { name: \"y\" data_type: TYPE_FP32 dims: 3\nlabel_filename: \"../labels.txt\" }", verdict: refused(`m/config.pbtxt:3:1: label_filename "../labels.txt" leaves the model's directory`)},
	})
}

// Section 3 and REP-05: what lies around in a repository.
func TestOddEntries(t *testing.T) {
	judge(t, map[string]oddity{
		"REP-05 hidden folders": {more: map[string]string{
			".git/config": "", "..data/config.pbtxt": "backend: \"onnxruntime\"", ".ipynb_checkpoints/1/model.onnx": "@identity_fp32", "lost+found/": "",
		}, verdict: loads},
		"REP-05 files":               {more: map[string]string{"README.md": "", "model.onnx": "@identity_fp32", "m2": ""}, verdict: loads},
		"REP-05 a foreign folder":    {more: map[string]string{"weights/w.bin": ""}, verdict: `weights: weights/config.pbtxt: neither a backend nor a platform is given, and no model file tells which` + "\n" + loads},
		"REP-05 an empty folder":     {more: map[string]string{"new/": ""}, verdict: `new: new/config.pbtxt: neither a backend nor a platform is given, and no model file tells which` + "\n" + loads},
		"REP-05 a dangling link":     {more: map[string]string{"old": "-> gone"}, verdict: loads},
		"REP-05 a link to a model":   {more: map[string]string{"alias": "-> m"}, verdict: "alias/1 READY\n" + loads},
		"REP-05 a link, with a name": {config: `name: "m"`, more: map[string]string{"alias": "-> m"}, verdict: `alias: alias/config.pbtxt:1:1: the model is called "m", but its directory "alias"` + "\n" + loads},
		"REP-05 a folder of a release": {model: "-", more: map[string]string{
			"..2026_01/m/config.pbtxt": "max_batch_size: 2", "..2026_01/m/1/model.onnx": "@identity_fp32", "..data": "-> ..2026_01", "m": "-> ..data/m",
		}, verdict: loads, completed: "max_batch_size: 2 dynamic_batching { } " + xy},
		"REP-05 files of a release": {model: "-", more: map[string]string{
			"m/..2026_01/config.pbtxt": "max_batch_size: 2", "m/..2026_01/1/model.onnx": "@identity_fp32", "m/..data": "-> ..2026_01",
			"m/config.pbtxt": "-> ..data/config.pbtxt", "m/1": "-> ..data/1",
		}, verdict: loads, completed: "max_batch_size: 2 dynamic_batching { } " + xy},
		"folders that Triton knows": {more: map[string]string{"m/warmup/x.bin": "", "m/initial_state/": "", "m/configs/gpu.pbtxt": "max_batch_size: 99"}, verdict: loads},
	})
}
