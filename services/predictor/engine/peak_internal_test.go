package engine

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triptych/shared/oip"
	"triptych/shared/testkit"
)

// ORT-03: what a peak has taken is given back when it is over, whether small
// requests go on or none do. The arena alone would keep it for ever: 100 MiB and
// more for batches of 16 of the sample model.
func TestThePeakIsGivenBack(t *testing.T) {
	lib := openLibrary(t)
	defer func() { _ = lib.Close() }()
	directory := testkit.Path(t, "models", "efficientnet_lite0")
	text, err := os.ReadFile(filepath.Join(directory, "config.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	const bound = 48 // MiB above what small batches take
	cases := map[string]struct{ parameters string }{
		"by default":        {""},
		"as Triton does it": {parameter(shrinkKey, "cpu:0")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := lib.Load(t.Context(), parsed(t, string(text)+c.parameters), filepath.Join(directory, "1"), Settings{
				Device: Device{Kind: CPU}, Logger: slog.New(slog.DiscardHandler), quiet: 300 * time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			batches := func(size int64, times int) {
				in := []oip.Tensor{{Name: "image", Datatype: "UINT8", Shape: []int64{size, 224, 224, 3}, Data: make([]byte, size*224*224*3)}}
				for range times {
					if _, err := s.Run(t.Context(), in); err != nil {
						t.Fatal(err)
					}
				}
			}
			batches(1, 10)
			trim()
			small := testkit.Resident(t) >> 20
			for what, runs := range map[string]int{"idle": 0, "small batches": 1} {
				batches(16, 3)
				peak, deadline := testkit.Resident(t)>>20, time.Now().Add(20*time.Second)
				now := peak
				for now > small+bound && time.Now().Before(deadline) {
					batches(1, runs)
					time.Sleep(20 * time.Millisecond)
					now = testkit.Resident(t) >> 20
				}
				if now > small+bound {
					t.Errorf("%s after a peak of %d MiB: %d MiB, want within %d of %d", what, peak, now, bound, small)
				}
				t.Logf("small %d, peak %d, %s %d MiB", small, peak, what, now)
			}
		})
	}
}

// The runtime itself refuses a list that it does not understand: proof that the
// entry of a run reaches it.
func TestEntryOfARunReachesTheRuntime(t *testing.T) {
	lib := openLibrary(t)
	defer func() { _ = lib.Close() }()
	s, err := lib.Load(t.Context(), parsed(t, `max_batch_size: 4 default_model_filename: "identity_fp32.onnx"
		input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ] output [ { name: "y" data_type: TYPE_FP32 dims: [ 3 ] } ]`), "testdata", Settings{
		Device: Device{Kind: CPU}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	slot, err := newSlot()
	if err != nil {
		t.Fatal(err)
	}
	defer slot.close()
	if err := lib.api.addRunConfig(slot.options, shrinkKey, "moon:0"); err != nil {
		t.Fatal(err)
	}
	if _, err := slot.fill(s.contract, s.contract.zeros(1), true); err != nil {
		t.Fatal(err)
	}
	defer slot.clear()
	_, err = s.replicas[0].run(t.Context(), slot)
	if err == nil || !strings.Contains(err.Error(), "moon") {
		t.Errorf("error %v", err)
	}
	if err := lib.api.addRunConfig(slot.options, "", ""); err == nil || !strings.Contains(err.Error(), "Config key is empty") {
		t.Errorf("an entry without a key: %v", err)
	}
}
