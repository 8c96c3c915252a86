package simulator_test

import (
	"strings"
	"sync"
	"testing"

	"triptych/proto/inference"
	"triptych/services/predictor/batcher"
	"triptych/services/predictor/simulator"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

// serve serves the simulated models of folders over gRPC.
func serve(t *testing.T, folders ...string) (*servertest.Server, inference.GRPCInferenceServiceClient) {
	t.Helper()
	tel := telemetry.Discard()
	metrics, err := batcher.NewMetrics(tel.Registry)
	if err != nil {
		t.Fatal(err)
	}
	server := servertest.Start(t, servertest.Options{Folders: folders, Telemetry: tel}, simulator.NewBackend(simulator.Config{MaxQueueSize: 100}, tel, metrics))
	return server, servertest.Client(t, server.Address)
}

// The stand-in of the benchmarks is a model like any other: version 1 without a
// folder, with metadata, batches and statistics.
func TestTheStandInIsServed(t *testing.T) {
	_, client := serve(t, testkit.Path(t, "tools", "bench", "models"))
	about, err := client.ModelMetadata(t.Context(), &inference.ModelMetadataRequest{Name: "standin"})
	if err != nil {
		t.Fatal(err)
	}
	if about.GetVersions()[0] != "1" || about.GetProperties()["device"] != "simulated" {
		t.Errorf("metadata %v", about)
	}
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			req := &inference.ModelInferRequest{ModelName: "standin"}
			oip.AddInput(req, oip.Tensor{Name: "image", Datatype: "UINT8", Shape: []int64{1, 224, 224, 3}, Data: make([]byte, 224*224*3)})
			resp, err := client.ModelInfer(t.Context(), req)
			if err != nil {
				t.Error(err)
				return
			}
			logits, _ := oip.Output(resp, "logits")
			if oip.FormatShape(logits.Shape) != "[1,1000]" || len(logits.Data) != 4000 {
				t.Errorf("logits of shape %v in %d bytes", logits.Shape, len(logits.Data))
			}
			if us := resp.GetParameters()["triptych_compute_us"].GetInt64Param(); us < 5150 {
				t.Errorf("computed in %d us", us)
			}
		})
	}
	group.Wait()
	stats, err := client.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: "standin"})
	if err != nil {
		t.Fatal(err)
	}
	if s := stats.GetModelStats()[0]; s.GetInferenceCount() != 32 || s.GetExecutionCount() < 2 || s.GetExecutionCount() > 16 {
		t.Errorf("%d items in %d executions", s.GetInferenceCount(), s.GetExecutionCount())
	}
}

// What a configuration gets wrong is shown in the index, and what goes wrong on
// purpose reaches the caller.
func TestFaultsAreSeenFromOutside(t *testing.T) {
	const tensors = `backend: "simulator" input { name: "x" data_type: TYPE_UINT8 dims: 2 } output { name: "y" data_type: TYPE_UINT8 dims: 2 }`
	_, client := serve(t, servertest.Repository(t, map[string]string{
		"misspelt/config.pbtxt": with(tensors, "per_items_us", "5"),
		"failing/config.pbtxt":  with(tensors, "fail_every", "1", "fixed_us", "0"),
	}))
	index, err := client.RepositoryIndex(t.Context(), &inference.RepositoryIndexRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range index.GetModels() {
		if want := `unknown parameter "per_items_us", did you mean "per_item_us"?`; m.GetName() == "misspelt" && !strings.Contains(m.GetReason(), want) {
			t.Errorf("the index says %v, want %s", m, want)
		}
	}
	req := &inference.ModelInferRequest{ModelName: "failing"}
	oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "UINT8", Shape: []int64{2}, Data: []byte{1, 2}})
	_, err = client.ModelInfer(t.Context(), req)
	if want := `model "failing": batch 1 is made to fail`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}
