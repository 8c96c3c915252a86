package upstream_test

import (
	"context"
	"testing"
	"time"

	"triptych/gateway/queued"
	"triptych/gateway/upstream"
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
	adds := servertest.Map(func(x float32) float32 { return x + 1 })
	return reports(t, reporting{report: r, Model: servertest.Model{OnInfer: func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		if servertest.Floats(req.GetRawInputContents()[0])[0] < 0 {
			return nil, failure.New(failure.Busy, "full")
		}
		return adds.Infer(ctx, req)
	}}})
}

// reports serves such a model.
func reports(t *testing.T, m reporting) *servertest.Server {
	t.Helper()
	files := map[string]string{"a/config.pbtxt": servertest.MapConfig("reporting")}
	return servertest.Start(t, servertest.Options{Folders: []string{servertest.Repository(t, files)}}, servertest.Backend{
		Kind: "reporting", OnLoad: func(context.Context, modelserver.Spec) (modelserver.Model, error) { return m, nil },
	})
}

// TestOthersLoad keeps away from a replica of which another gateway makes much use,
// and prefers one with more slots, whether answers say so or failures.
func TestOthersLoad(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		one, two capacity.Report
		x        float32
	}{
		"others wait there":   {capacity.Report{Slots: 2, Running: 2, Waiting: 30}, capacity.Report{Slots: 2}, 1},
		"it has less slots":   {capacity.Report{Slots: 1}, capacity.Report{Slots: 4}, 1},
		"failures say so too": {capacity.Report{Slots: 1, Running: 1, Waiting: 30}, capacity.Report{Slots: 4}, -1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := report(t, test.one), report(t, test.two)
			f := once(t, one.Address, two.Address)
			heard := map[string]bool{}
			eventually(t, "both have said something", func() bool {
				heard[called(t, f, test.x)] = true
				return heard[one.Address] && heard[two.Address]
			})
			calls := map[string]int{}
			for begun := time.Now(); len(calls) == 0 || calls[two.Address] < 200 && time.Since(begun) < 200*time.Millisecond; {
				calls[called(t, f, test.x)]++
			}
			if calls[one.Address] > calls[two.Address]/10 {
				t.Errorf("the calls went to %v, the busy one is %s", calls, one.Address)
			}
		})
	}
}

// called calls a fleet and tells who said something, were it that it is busy.
func called(t *testing.T, f *upstream.Fleet, x float32) (peer string) {
	t.Helper()
	_, peer, err := f.Infer(t.Context(), servertest.Request("a", x, 2))
	if err != nil && failure.KindOf(err) != failure.Busy {
		t.Fatal(err)
	}
	return peer
}

// tell calls a fleet, and gives the wait that its stages told of.
func tell(t *testing.T, f *upstream.Fleet) time.Duration {
	t.Helper()
	var road queued.Wait
	if _, _, err := f.Infer(queued.With(t.Context(), &road), servertest.Request("a", 1, 2)); err != nil {
		t.Fatal(err)
	}
	return road.Time()
}

// A request learns how long its stages say that others wait there.
func TestQueueIsTold(t *testing.T) {
	t.Parallel()
	const age = 40 * time.Millisecond
	f := once(t, report(t, capacity.Report{Slots: 1, Running: 1, Waiting: 3, Age: age}).Address)
	if got := tell(t, f); got <= age/2 || got > age {
		t.Errorf("the wait is %s, want nearly %s", got, age)
	}
	called(t, f, 1) // nobody wants to know
}

// A request that was refused did not wait there: only the queue of the replica whose
// answer counts is told.
func TestQueueOfTheAnswer(t *testing.T) {
	t.Parallel()
	const age = 40 * time.Millisecond
	waits := capacity.Report{Slots: 1, Running: 1, Waiting: 3, Age: age}
	refuses := reporting{report: waits, Model: servertest.Model{OnInfer: func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		return nil, failure.New(failure.Unavailable, "not now")
	}}}
	f, metric := watched(t, settings(time.Hour, report(t, waits).Address, reports(t, refuses).Address))
	for range 20 {
		if got := tell(t, f); got > age {
			t.Errorf("the wait is %s, want at most %s", got, age)
		}
	}
	if metric("triptych_upstream_retries_total", nil) == 0 {
		t.Error("none was refused")
	}
}
