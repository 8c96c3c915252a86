package predictor_test

import (
	"context"
	"testing"
	"time"

	"triptych/proto/inference"
	predictor "triptych/services/predictor"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// A device that hangs gives no error: the service says itself that it no longer
// lives, until the batch ends after all.
func TestAHangingDeviceIsNotLive(t *testing.T) {
	cfg := predictor.DefaultConfig()
	cfg.StallTimeout = 50 * time.Millisecond
	backends, err := predictor.NewBackends(cfg, telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	onnx, simulator := backends[0].(*predictor.Backend), backends[1]
	t.Cleanup(func() { _ = onnx.Close() })
	text := func(s string) *inference.ModelParameter { return &inference.ModelParameter{StringValue: s} }
	model, err := simulator.Load(t.Context(), modelserver.Spec{Version: 1, Config: &inference.ModelConfig{
		Name: "m", Backend: "simulator",
		Input:      []*inference.ModelInput{{Name: "x", DataType: inference.DataType_TYPE_UINT8, Dims: []int64{1}}},
		Output:     []*inference.ModelOutput{{Name: "y", DataType: inference.DataType_TYPE_UINT8, Dims: []int64{1}}},
		Parameters: map[string]*inference.ModelParameter{"fail_every": text("1"), "fail_with": text("hang"), "fixed_us": text("0")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	if err := onnx.Live(); err != nil {
		t.Errorf("before: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		req := &inference.ModelInferRequest{}
		oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "UINT8", Shape: []int64{1}, Data: []byte{1}})
		_, err := model.Infer(ctx, req)
		done <- err
	}()
	testkit.Eventually(t, 10*time.Second, "the service says that it hangs", func() bool { return failure.KindOf(onnx.Live()) == failure.Unavailable && onnx.Live() != nil })
	cancel()
	if err := <-done; failure.KindOf(err) != failure.Cancelled {
		t.Errorf("error %v", err)
	}
	testkit.Eventually(t, 10*time.Second, "the service lives again", func() bool { return onnx.Live() == nil })
}
