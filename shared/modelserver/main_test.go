package modelserver_test

import (
	"context"
	"testing"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// double is a backend whose models double what they get.
var double = servertest.Backend{Kind: "double", OnLoad: func(context.Context, modelserver.Spec) (modelserver.Model, error) {
	return servertest.Map(func(x float32) float32 { return 2 * x }), nil
}}

// loading is a backend with the function that loads.
func loading(load func(ctx context.Context, spec modelserver.Spec) (modelserver.Model, error)) servertest.Backend {
	return servertest.Backend{Kind: "double", OnLoad: load}
}

var doubleConfig = servertest.MapConfig("double")

// newRegistry has loaded everything of the folder.
func newRegistry(t *testing.T, folder string, backends ...modelserver.Backend) *modelserver.Registry {
	t.Helper()
	return newRegistryWith(t, telemetry.Discard(), folder, backends...)
}

func newRegistryWith(t *testing.T, tel *telemetry.Telemetry, folder string, backends ...modelserver.Backend) *modelserver.Registry {
	t.Helper()
	r := servertest.NewRegistry(t, tel, []string{folder}, backends...)
	if err := r.LoadAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func newService(r *modelserver.Registry) *modelserver.Service {
	return modelserver.NewService(modelserver.Info{Name: "test", Version: "1.2.3"}, r, true)
}

// index is an index in short: "name/version STATE reason".
func index(r *modelserver.Registry) []string {
	var lines []string
	for _, m := range r.Index(false) {
		lines = append(lines, line(m))
	}
	return lines
}

func line(m *inference.RepositoryIndexResponse_ModelIndex) string {
	s := m.GetName() + "/" + m.GetVersion() + " " + m.GetState()
	if m.GetReason() != "" {
		s += " " + m.GetReason()
	}
	return s
}
