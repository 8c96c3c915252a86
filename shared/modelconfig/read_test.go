package modelconfig_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// folder makes a model's directory: a name that ends in / is a folder, an
// arrow makes a link, everything else is a file.
func folder(t *testing.T, name, config string, entries ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	mustDo(t, os.MkdirAll(dir, 0o755))
	if config != "" {
		mustDo(t, os.WriteFile(filepath.Join(dir, modelconfig.Filename), []byte(config), 0o600))
	}
	for _, e := range entries {
		path := filepath.Join(dir, e)
		link, target, isLink := strings.Cut(e, "->")
		switch {
		case isLink:
			mustDo(t, os.Symlink(filepath.Join(dir, target), filepath.Join(dir, link)))
		case strings.HasSuffix(e, "/"):
			mustDo(t, os.MkdirAll(path, 0o755))
		default:
			mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
			mustDo(t, os.WriteFile(path, nil, 0o600))
		}
	}
	return dir
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadNames(t *testing.T) {
	d, err := modelconfig.Read(folder(t, "resnet", "backend: \"x\""))
	if err != nil || d.Config.GetName() != "resnet" {
		t.Errorf("a model without a name: got %q, %v", d.Config.GetName(), err)
	}
	_, err = modelconfig.Read(folder(t, "resnet", "# mine\nname: \"vgg\""))
	wantFailure(t, err, failure.Invalid, `resnet/config.pbtxt:2:1: the model is called "vgg", but its directory "resnet"`)
	d, err = modelconfig.Read(folder(t, "resnet", "", "1/model.onnx"))
	if err != nil || d.Config.GetBackend() != "onnxruntime" || d.Config.GetName() != "resnet" {
		t.Errorf("no file: got %v, %v", d, err)
	}
	_, err = modelconfig.Read(folder(t, "resnet", "", "config.pbtxt/"))
	wantFailure(t, err, failure.Invalid, "resnet/config.pbtxt is not a file")
	_, err = modelconfig.Read(folder(t, "resnet", "", "config.pbtxt->..data/config.pbtxt", "1/model.onnx"))
	wantFailure(t, err, failure.Invalid, "resnet/config.pbtxt is a link to a file that is not there")
	_, err = modelconfig.Read(folder(t, "resnet", strings.Repeat("#", 4<<20+1)))
	wantFailure(t, err, failure.Invalid, "resnet/config.pbtxt has 4194305 bytes, at most 4194304 are read")
	_, err = modelconfig.Read(folder(t, "resnet", "nam: 1"))
	wantFailure(t, err, failure.Invalid, `resnet/config.pbtxt:1:1: unknown field: nam, did you mean "name"?`)
}

// Triton's rules: platform, default file, newest version's file, ending of the name.
func TestFillBackend(t *testing.T) {
	tests := map[string]struct {
		model, config     string
		entries           []string
		backend, platform string // backend as BackendOf has it
		message           string
	}{
		"backend":             {"m", `backend: "image"`, nil, "image", "", ""},
		"onnxruntime":         {"m", `backend: "onnxruntime"`, nil, "onnxruntime", "onnxruntime_onnx", ""},
		"platform":            {"m", `platform: "onnxruntime_onnx"`, nil, "onnxruntime", "onnxruntime_onnx", ""},
		"tensorrt_plan":       {"m", `platform: "tensorrt_plan"`, nil, "tensorrt", "tensorrt_plan", ""},
		"both":                {"m", `platform: "pytorch_libtorch" backend: "pytorch"`, nil, "pytorch", "pytorch_libtorch", ""},
		"ensemble":            {"m", `platform: "ensemble"`, nil, "ensemble", "ensemble", ""},
		"default file":        {"m", `default_model_filename: "net.onnx"`, nil, "onnxruntime", "onnxruntime_onnx", ""},
		"file":                {"m", ``, []string{"1/model.plan"}, "tensorrt", "", ""},
		"python":              {"m", ``, []string{"1/model.py"}, "python", "", ""},
		"folder as a file":    {"m", ``, []string{"1/model.onnx/"}, "onnxruntime", "onnxruntime_onnx", ""},
		"newest version":      {"m", ``, []string{"9/model.pt", "10/model.onnx"}, "onnxruntime", "onnxruntime_onnx", ""},
		"an empty version":    {"m", ``, []string{"9/model.onnx", "10/", "11/weights.bin"}, "onnxruntime", "onnxruntime_onnx", ""},
		"a platform misspelt": {"m", `platform: "onnxruntime"`, nil, "", "", `m/config.pbtxt:1:1: unknown platform "onnxruntime", did you mean "onnxruntime_onnx"?`},
		"several files":       {"m", ``, []string{"1/model.py", "1/model.onnx", "1/model.pt"}, "onnxruntime", "onnxruntime_onnx", ""},
		"ending of the name":  {"m.custom", ``, nil, "custom", "", ""},
		"file before ending":  {"m.custom", ``, []string{"1/model.onnx"}, "onnxruntime", "onnxruntime_onnx", ""},
		"nothing":             {"m", ``, []string{"1/"}, "", "", "m/config.pbtxt: neither a backend nor a platform is given, and no model file tells which"},
		"they disagree":       {"m", "platform: \"onnxruntime_onnx\"\n backend: \"tensorrt\"", nil, "", "", `m/config.pbtxt:2:2: backend "tensorrt" does not go with platform "onnxruntime_onnx"`},
		"unknown platform":    {"m", `platform: "caffe"`, nil, "", "", `m/config.pbtxt:1:1: unknown platform "caffe"`},
		"ensemble + backend":  {"m", `platform: "ensemble" backend: "python"`, nil, "", "", `m/config.pbtxt:1:22: an ensemble has no backend, but this says "python"`},
		"own platform's name": {"m", `platform: "mine" backend: "image"`, nil, "image", "mine", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, err := modelconfig.Read(folder(t, tt.model, tt.config, tt.entries...))
			wantFailure(t, err, failure.Invalid, tt.message)
			if err != nil {
				return
			}
			if got := modelconfig.BackendOf(d.Config); got != tt.backend || d.Config.GetPlatform() != tt.platform {
				t.Errorf("backend %q, platform %q, want %q, %q", got, d.Config.GetPlatform(), tt.backend, tt.platform)
			}
		})
	}
}

// REP-05: names that are no versions are passed over, the order is that of numbers.
func TestVersions(t *testing.T) {
	dir := folder(t, "m", "", "9/", "10/", "2/", "01/", "0/", "v2/", "latest/", "1.bak/", "-1/", "+3/", ".git/", "..data/", "1e3/",
		"99999999999999999999/", "7", "real/", "11->real", "12->7", "13->nowhere")
	got, err := modelconfig.Versions(dir)
	if want := []int64{2, 9, 10, 11}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, want := modelconfig.Strays(dir), []string{"+3", "-1", "0", "01", "1.bak", "1e3", "99999999999999999999", "latest", "real", "v2"}; !slices.Equal(got, want) {
		t.Errorf("strays %q, want %q", got, want)
	}
	if _, err := modelconfig.Versions(filepath.Join(dir, "absent")); !os.IsNotExist(err) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestWanted(t *testing.T) {
	all := &inference.ModelVersionPolicy{PolicyChoice: &inference.ModelVersionPolicy_All_{All: &inference.ModelVersionPolicy_All{}}}
	latest := func(n uint32) *inference.ModelVersionPolicy {
		return &inference.ModelVersionPolicy{PolicyChoice: &inference.ModelVersionPolicy_Latest_{Latest: &inference.ModelVersionPolicy_Latest{NumVersions: n}}}
	}
	specific := func(v ...int64) *inference.ModelVersionPolicy {
		return &inference.ModelVersionPolicy{PolicyChoice: &inference.ModelVersionPolicy_Specific_{Specific: &inference.ModelVersionPolicy_Specific{Versions: v}}}
	}
	there := []int64{2, 9, 10}
	for name, tt := range map[string]struct {
		policy      *inference.ModelVersionPolicy
		there, want []int64
	}{
		"none":           {nil, there, []int64{10}},
		"all":            {all, there, there},
		"latest 2":       {latest(2), there, []int64{9, 10}},
		"latest 0 is 1":  {latest(0), there, []int64{10}},
		"latest 2^32-1":  {latest(1<<32 - 1), there, there},
		"specific":       {specific(10, 2, 10), there, []int64{2, 10}},
		"absent stays":   {specific(3, 9), there, []int64{3, 9}},
		"none are there": {latest(3), nil, nil},
		"all of nothing": {all, nil, nil},
	} {
		if got := modelconfig.Wanted(tt.policy, tt.there); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
