package onnxfile_test

import (
	"math"
	"os"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/services/predictor/engine"
	"triptych/services/predictor/onnxfile"
)

func library(t *testing.T) *engine.Library {
	t.Helper()
	path, err := engine.Find(os.Getenv("TRIPTYCH_ONNXRUNTIME"))
	must(t, err)
	lib, err := engine.Open(path)
	must(t, err)
	t.Cleanup(func() { must(t, lib.Close()) })
	return lib
}

// ORT-08: the limits are the library's own. Each is taken, the next is not.
func TestLimits(t *testing.T) {
	lib := library(t)
	limits := onnxfile.LimitsOf(lib.Version())
	if limits.IR == 0 || len(limits.Opsets) == 0 {
		t.Fatalf("the limits of ONNX Runtime %s are unknown: add them", lib.Version())
	}
	ask := func(what string, taken bool, content []byte) {
		path := save(t, content)
		_, _, err := ort.GetInputOutputInfo(path)
		if (err == nil) != taken {
			t.Errorf("%s: the library says %v", what, err)
		}
		if err := onnxfile.Check(path, limits); (err == nil) != taken {
			t.Errorf("%s: Check says %v", what, err)
		}
	}
	ask("newest IR", true, file(uint64(limits.IR), identity("Identity", ""), opset(8, "", 17)))
	ask("next IR", false, file(uint64(limits.IR)+1, identity("Identity", ""), opset(8, "", 17)))
	for domain, most := range limits.Opsets {
		for _, version := range []int64{most, most + 1} {
			imports := opset(8, domain, uint64(version))
			if domain != "" {
				imports = append(imports, opset(8, "", 17)...)
			}
			ask("opset of "+domain, version == most, file(8, identity("Identity", ""), imports))
		}
	}
}

// A runtime that is newer than this program says itself what it does not take.
func TestLimitsOfANewerRuntime(t *testing.T) {
	for _, version := range []string{"1.240.0", "2.24.1", "1.25.0", "", "x"} {
		if err := onnxfile.Check(save(t, file(math.MaxInt32, identity("Identity", ""), opset(8, "", 99))), onnxfile.LimitsOf(version)); err != nil {
			t.Errorf("%q: %v", version, err)
		}
	}
}
