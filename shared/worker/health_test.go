package worker_test

import (
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// series are the values of a door's metrics, by name and labels.
func series(t *testing.T, tel *telemetry.Telemetry) map[string]float64 {
	t.Helper()
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "triptych_jobs_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			values[name] = value(m)
		}
	}
	return values
}

func value(m *dto.Metric) float64 {
	switch {
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	case m.GetHistogram() != nil:
		return float64(m.GetHistogram().GetSampleCount())
	default:
		return m.GetGauge().GetValue()
	}
}

func TestMetrics(t *testing.T) {
	tel := telemetry.Discard()
	run, _ := failing(1, failure.Busy)
	m := newModels(map[string]infer{"a": run})
	store := natstest.Store(t, natstest.Server(t))
	open(t, settings(), store, m, tel)
	begin(t, store, item(t, store, chain(t, "a"), "j", 0, 10))
	gives(t, store, "j", 0, 11)
	testkit.Eventually(t, 5*time.Second, "the task is done", func() bool { return series(t, tel)["in_flight a"] == 0 })
	got := series(t, tel)
	for name, want := range map[string]float64{"tasks_total a passed": 1, "naks_total a busy": 1, "redelivered_total a": 1, "wait_seconds a": 2, "slots a": 16, "allowed a": 16, "stuck a": 0} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if got["fetches_total a"] < 1 || got["fetch_age_seconds a"] > 5 {
		t.Errorf("%v", got)
	}
	m.unwatched.Store(0)
	if got := series(t, tel)["allowed a"]; got != 4 {
		t.Errorf("while others call %v may run, want 4", got)
	}
	m.remove("a")
	testkit.Eventually(t, 5*time.Second, "a model that is gone has no series", func() bool { return len(series(t, tel)) == 0 })
}

// Whoever is connected and gets no answer is not ready.
func TestReady(t *testing.T) {
	t.Parallel() // it takes as long as silence is borne
	store := natstest.Store(t, natstest.Server(t))
	js := store.Connection().JetStream()
	// A stream of the queue's subjects is in the way: it can't be made.
	cfg := stream.StepSubject("a", 1, "j", 0, 0)
	cfg = cfg[:strings.Index(cfg, ".1.")] + ".>"
	other, err := js.Stream(t.Context(), stream.Notes)
	if err != nil {
		t.Fatal(err)
	}
	blocking := other.CachedInfo().Config
	blocking.Name, blocking.Subjects = "BLOCKING", []string{cfg}
	if _, err := js.CreateStream(t.Context(), blocking); err != nil {
		t.Fatal(err)
	}
	door, _ := open(t, settings(), store, named("a"), telemetry.Discard())
	testkit.Eventually(t, 30*time.Second, "the door is not ready", func() bool { return failure.KindOf(door.Ready()) == failure.Unavailable && door.Ready() != nil })
	if err := js.DeleteStream(t.Context(), "BLOCKING"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "the door is ready", func() bool { return door.Ready() == nil })
}
