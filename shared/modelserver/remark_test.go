package modelserver_test

import (
	"context"
	"testing"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/testkit/servertest"
)

// elsewhere is a model that serves, though not where it was asked to.
type elsewhere struct{ servertest.Model }

func (elsewhere) Remark() string { return "runs on cpu instead of cuda:0" }

// A remark stands beside a version that is READY, and takes nothing from that.
func TestRemarkOfAReadyVersion(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": ""})
	s := newService(newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return elsewhere{servertest.Map(nil)}, nil
	})))
	index, err := s.RepositoryIndex(t.Context(), &inference.RepositoryIndexRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(index.GetModels()) != 1 || index.GetModels()[0].GetState() != string(modelserver.Ready) || index.GetModels()[0].GetReason() != (elsewhere{}).Remark() {
		t.Errorf("index %v", index)
	}
	ready, err := s.ModelReady(t.Context(), &inference.ModelReadyRequest{Name: "m"})
	if err != nil || !ready.GetReady() {
		t.Errorf("ready %v, error %v", ready, err)
	}
}
