package predictor_test

import (
	"os"
	"strings"
	"testing"

	"triptych/proto/inference"
	predictor "triptych/services/predictor"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

// The predictor serves the models of both backends from one repository, and
// counts the batches of both in one metric.
func TestBothBackendsServe(t *testing.T) {
	tel := telemetry.Discard()
	cfg := predictor.DefaultConfig()
	cfg.Library = os.Getenv("TRIPTYCH_ONNXRUNTIME")
	backends, err := predictor.NewBackends(cfg, tel)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backends[0].(*predictor.Backend).Close() })
	folders := []string{testkit.Path(t, "models"), testkit.Path(t, "tools", "bench", "models")}
	server := servertest.Start(t, servertest.Options{Folders: folders, Telemetry: tel}, backends...)
	client := servertest.Client(t, server.Address)
	for _, name := range []string{"efficientnet_lite0", "standin"} {
		req := picture(1, 2)
		req.ModelName = name
		resp, err := client.ModelInfer(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if out, ok := oip.Output(resp, "logits"); !ok || len(out.Data) != 2*1000*4 {
			t.Errorf("%s answers with %v", name, resp.GetOutputs())
		}
	}
	if got := strings.Join(batched(t, tel), " "); got != "efficientnet_lite0 standin" {
		t.Errorf("batches of %s are counted, want both", got)
	}
	if _, err := client.ModelConfig(t.Context(), &inference.ModelConfigRequest{Name: "standin"}); err != nil {
		t.Error(err)
	}
}

// batched are the models of which a batch has been counted.
func batched(t *testing.T, tel *telemetry.Telemetry) []string {
	t.Helper()
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var models []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "triptych_batch_size" && m.GetHistogram().GetSampleCount() == 1 {
				models = append(models, m.GetLabel()[0].GetValue())
			}
		}
	}
	return models
}
