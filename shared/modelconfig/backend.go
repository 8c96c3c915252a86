package modelconfig

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triptych/proto/inference"
)

// The platform and the backend names that a configuration can leave to be
// guessed.
const (
	EnsemblePlatform = "ensemble"
	ensembleBackend  = "ensemble"
	onnxBackend      = "onnxruntime"
	onnxPlatform     = "onnxruntime_onnx"
)

// platformBackends are the platforms that Triton knows, by the backend that
// serves each.
var platformBackends = map[string]string{
	EnsemblePlatform:        ensembleBackend,
	onnxPlatform:            onnxBackend,
	"tensorrt_plan":         "tensorrt",
	"pytorch_libtorch":      "pytorch",
	"tensorflow_savedmodel": "tensorflow",
	"tensorflow_graphdef":   "tensorflow",
}

// fileBackends are the model files that tell a backend; the first that is there
// decides.
var fileBackends = []struct{ file, backend string }{
	{"model.onnx", onnxBackend},
	{"model.plan", "tensorrt"},
	{"model.pt", "pytorch"},
	{"model.py", "python"},
}

// FillBackend sets the backend and the platform that a configuration leaves out,
// by Triton's rules: from the platform, the default file's name, the newest
// version's file (of those that have one), the ending of the model's name. An ensemble's backend stays
// empty, as Triton wants it.
func (d *Document) FillBackend(directory string) error {
	c := d.Config
	byPlatform, known := platformBackends[c.GetPlatform()]
	switch {
	case c.GetPlatform() == EnsemblePlatform && c.GetBackend() != "":
		return d.failf([]place{{"backend", 0}}, "an ensemble has no backend, but this says %q", c.GetBackend())
	case c.GetPlatform() == EnsemblePlatform:
		return nil
	case c.GetBackend() != "" && known && byPlatform != c.GetBackend():
		return d.failf([]place{{"backend", 0}}, "backend %q does not go with platform %q", c.GetBackend(), c.GetPlatform())
	case c.GetBackend() == "" && c.GetPlatform() != "" && !known:
		return d.failf([]place{{"platform", 0}}, "unknown platform %q%s", c.GetPlatform(), suggestion(c.GetPlatform(), slices.Sorted(maps.Keys(platformBackends))))
	case c.GetBackend() == "":
		c.Backend = guess(c, directory, byPlatform)
	}
	if c.GetBackend() == "" {
		return d.failf(nil, "neither a backend nor a platform is given, and no model file tells which")
	}
	if c.GetPlatform() == "" && c.GetBackend() == onnxBackend {
		c.Platform = onnxPlatform
	}
	return nil
}

func guess(c *inference.ModelConfig, directory, byPlatform string) string {
	if byPlatform != "" {
		return byPlatform
	}
	for _, f := range fileBackends {
		if filepath.Ext(f.file) == filepath.Ext(c.GetDefaultModelFilename()) {
			return f.backend
		}
	}
	// The newest version may be half a copy: it must not hide what the others are.
	versions, _ := Versions(directory)
	for _, v := range slices.Backward(versions) {
		for _, f := range fileBackends {
			if _, err := os.Stat(filepath.Join(directory, strconv.FormatInt(v, 10), f.file)); err == nil {
				return f.backend
			}
		}
	}
	if ext := filepath.Ext(c.GetName()); len(ext) > 1 {
		return ext[1:]
	}
	return ""
}

// BackendOf is the name of the backend that serves a configuration whose
// backend has been filled in.
func BackendOf(c *inference.ModelConfig) string {
	if c.GetPlatform() == EnsemblePlatform {
		return ensembleBackend
	}
	return c.GetBackend()
}

// Versions lists the versions in a model's directory, oldest first: folders (or
// links to folders) whose names are whole numbers above 0 without a leading 0.
func Versions(directory string) ([]int64, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	var versions []int64
	for _, e := range entries {
		v, ok := ParseVersion(e.Name())
		if !ok {
			continue
		}
		if info, err := os.Stat(filepath.Join(directory, e.Name())); err == nil && info.IsDir() {
			versions = append(versions, v)
		}
	}
	slices.Sort(versions)
	return versions, nil
}

// Strays are the folders in a model's directory whose names are no versions,
// sorted: neither hidden ones nor those that Triton has a use for.
func Strays(directory string) []string {
	entries, _ := os.ReadDir(directory)
	var strays []string
	for _, e := range entries {
		_, isVersion := ParseVersion(e.Name())
		useful := slices.Contains([]string{"warmup", "configs", "initial_state"}, e.Name())
		if info, err := os.Stat(filepath.Join(directory, e.Name())); err == nil && info.IsDir() && !isVersion && !useful && e.Name()[0] != '.' {
			strays = append(strays, e.Name())
		}
	}
	return strays
}

// ParseVersion reads a version's number as it stands in a folder's name or in a
// request.
func ParseVersion(s string) (int64, bool) {
	if s == "" || s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

// Wanted picks the versions that a policy serves out of those that are there,
// which are sorted, oldest first. A specific version that is absent stays in
// the list, so that its load can say so.
func Wanted(policy *inference.ModelVersionPolicy, there []int64) []int64 {
	switch {
	case policy.GetAll() != nil:
		return there
	case policy.GetSpecific() != nil:
		wanted := slices.Clone(policy.GetSpecific().GetVersions())
		slices.Sort(wanted)
		return slices.Compact(wanted)
	}
	n := max(int(policy.GetLatest().GetNumVersions()), 1)
	return there[max(len(there)-n, 0):]
}
