package upstream_test

import (
	"context"
	"testing"
	"time"

	"triptych/proto/inference"
	"triptych/shared/capacity"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/testkit/servertest"
)

// reporting is a model that knows what it can take. It fails for numbers below 0.
type reporting struct {
	servertest.Model
	report capacity.Report
}

// Capacity implements modelserver.Reporter.
func (r reporting) Capacity() capacity.Report { return r.report }

func report(t *testing.T, r capacity.Report) *servertest.Server {
	t.Helper()
	files := map[string]string{"a/config.pbtxt": servertest.MapConfig("reporting"), "b/config.pbtxt": servertest.MapConfig("silent")}
	adds := servertest.Map(func(x float32) float32 { return x + 1 })
	return servertest.Start(t, servertest.Options{Folders: []string{servertest.Repository(t, files)}}, adding("silent", 1), servertest.Backend{
		Kind: "reporting", OnLoad: func(context.Context, modelserver.Spec) (modelserver.Model, error) {
			return reporting{report: r, Model: servertest.Model{OnInfer: func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
				if servertest.Floats(req.GetRawInputContents()[0])[0] < 0 {
					return nil, failure.New(failure.Busy, "full")
				}
				return adds.Infer(ctx, req)
			}}}, nil
		},
	})
}

// TestCapacity sums what two replicas say in their answers, failures too.
func TestCapacity(t *testing.T) {
	t.Parallel()
	one := report(t, capacity.Report{Slots: 2, Running: 2, Waiting: 5, Age: time.Second})
	two := report(t, capacity.Report{Slots: 1, Waiting: 3, Age: 2 * time.Second})
	f := start(t, one.Address, two.Address)
	if _, known := f.Capacity("a", ""); known {
		t.Error("it is known before anybody has answered")
	}
	for name, x := range map[string]float32{"answers": 1, "failures": -1} {
		sum := capacity.Report{}
		eventually(t, name+" tell", func() bool {
			_, _, err := f.Infer(t.Context(), servertest.Request("a", x, 0))
			if err != nil && failure.KindOf(err) != failure.Busy {
				t.Error(err)
			}
			sum, _ = f.Capacity("a", "1")
			return sum.Slots == 3 && sum.Running == 2 && sum.Waiting == 8 && sum.Age > time.Second
		})
	}
	eventually(t, "what was said of queues fades", func() bool {
		sum, known := f.Capacity("a", "")
		return known && sum.Waiting == 0 && sum.Running == 0 && sum.Slots == 3
	})
	infer(t, f, "b", 1, 2)
	for _, model := range []string{"b", "nobody's"} {
		if sum, known := f.Capacity(model, ""); known {
			t.Errorf("%s: %+v", model, sum)
		}
	}
}
