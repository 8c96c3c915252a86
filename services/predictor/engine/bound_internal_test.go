package engine

import (
	"log/slog"
	"os"
	"testing"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// openLibrary is for tests from inside. The caller closes it.
func openLibrary(tb testing.TB) *Library {
	tb.Helper()
	path, err := Find(os.Getenv("TRIPTYCH_ONNXRUNTIME"))
	if err != nil {
		tb.Fatal(err)
	}
	lib, err := Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	return lib
}

// From inside, with a low limit: an output of 1 GiB is more than a test should
// ask for.
func TestOutputsThatTurnOutTooLarge(t *testing.T) {
	lib := openLibrary(t)
	defer func() { _ = lib.Close() }()
	for name, dims := range map[string]int64{"the runtime's memory": -1, "our memory": 8} {
		t.Run(name, func(t *testing.T) {
			cfg := &inference.ModelConfig{
				Name: "m", MaxBatchSize: 4, DefaultModelFilename: "dynamic_fp32.onnx",
				Input:  []*inference.ModelInput{{Name: "x", DataType: inference.DataType_TYPE_FP32, Dims: []int64{-1}}},
				Output: []*inference.ModelOutput{{Name: "y", DataType: inference.DataType_TYPE_FP32, Dims: []int64{dims}}},
			}
			s, err := lib.Load(t.Context(), cfg, "testdata", Settings{Device: Device{Kind: CPU}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			in := []oip.Tensor{{Name: "x", Datatype: "FP32", Shape: []int64{1, 4}, Data: make([]byte, 16)}}
			s.contract.limit = 33
			if _, err := s.Run(t.Context(), in); err != nil {
				t.Errorf("an output of 32 bytes: %v", err)
			}
			s.contract.limit = 32
			_, err = s.Run(t.Context(), in)
			if want := `output "y" takes 32 bytes, must be less than 32`; failure.KindOf(err) != failure.TooLarge || failure.Message(err) != want {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}
