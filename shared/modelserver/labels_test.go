package modelserver_test

import (
	"testing"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/testkit/servertest"
)

// labels is the parameter of a configuration.
func labels(text string) string {
	return `parameters { key: "version_labels" value { string_value: "` + text + `" } }
`
}

// count is how many inferences a version has made.
func count(t *testing.T, s *modelserver.Service, model, version string) uint64 {
	t.Helper()
	resp, err := s.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: model, Version: version})
	if err != nil || len(resp.GetModelStats()) != 1 {
		t.Fatalf("statistics give %v, %v", resp, err)
	}
	return resp.GetModelStats()[0].GetInferenceCount()
}

func TestLabels(t *testing.T) {
	t.Parallel()
	all := doubleConfig + "version_policy { all {} }"
	folder := servertest.Repository(t, map[string]string{
		"m/config.pbtxt": all + labels("stable=1,canary=2"), "m/1/": "", "m/2/": "",
		"bad/config.pbtxt": doubleConfig + labels("stable=1"), "bad/1/": "", "bad/2/": "",
	})
	b := &switchable{}
	r := newRegistry(t, folder, b.backend())
	s := newService(r)
	serves := func(label, version string) {
		t.Helper()
		req := servertest.Request("m", 1, 2)
		req.ModelVersion = label
		resp, err := s.ModelInfer(t.Context(), req)
		if err != nil || resp.GetModelVersion() != version {
			t.Errorf("%s: got version %q, %v; want %s", label, resp.GetModelVersion(), err, version)
		}
		ready, err := s.ModelReady(t.Context(), &inference.ModelReadyRequest{Name: "m", Version: label})
		if err != nil || !ready.GetReady() {
			t.Errorf("%s: ready %v, %v", label, ready, err)
		}
		if _, err := s.ModelConfig(t.Context(), &inference.ModelConfigRequest{Name: "m", Version: label}); err != nil {
			t.Error(err)
		}
		count(t, s, "m", label)
	}
	serves("stable", "1")
	serves("canary", "2")
	meta, err := s.ModelMetadata(t.Context(), &inference.ModelMetadataRequest{Name: "m", Version: "canary"})
	if err != nil || meta.GetProperties()["version_labels"] != "canary=2,stable=1" {
		t.Errorf("metadata: %v, %v", meta, err)
	}
	_, err = s.ModelInfer(t.Context(), servertest.Request("bad", 1, 2))
	if want := `model "bad" is not ready: the label "stable" points to version 1, which the version_policy of model "bad" does not pick`; failure.Message(err) != want {
		t.Errorf("got %v, want %q", err, want)
	}
	// A label moves, and nothing is loaded for it.
	loads := b.loads.Load()
	servertest.Write(t, folder, map[string]string{"m/config.pbtxt": all + labels("stable=2")})
	if err := r.Load(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	serves("stable", "2")
	if b.loads.Load() != loads {
		t.Errorf("%d loads", b.loads.Load()-loads)
	}
	req := servertest.Request("m", 1, 2)
	req.ModelVersion = "canary"
	if _, err := s.ModelInfer(t.Context(), req); failure.KindOf(err) != failure.NotFound {
		t.Errorf("a label that is gone: %v", err)
	}
	// One that would point nowhere is refused, and the old ones stay.
	servertest.Write(t, folder, map[string]string{"m/config.pbtxt": all + labels("stable=7")})
	if err := r.Load(t.Context(), "m"); failure.KindOf(err) != failure.Invalid {
		t.Errorf("got %v", err)
	}
	serves("stable", "2")
}
