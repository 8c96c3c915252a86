package batcher_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace/noop"

	"triptych/services/predictor/batcher"
)

// series are the names of the metrics that have a series of a version, with how
// many.
func series(t *testing.T, registry *prometheus.Registry, version string) map[string]int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if strings.HasPrefix(family.GetName(), "triptych_") && l.GetName() == "version" && l.GetValue() == version {
					found[family.GetName()]++
				}
			}
		}
	}
	return found
}

// The series of a version go with its last batcher: a version that is loaded
// again has two for a while.
func TestSeriesGoWithTheVersion(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics, err := batcher.NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	open := func(version string) *bench {
		model := &fakeModel{}
		cfg := batcher.Config{Model: "m", Version: version, MaxBatchSize: 8, Dynamic: true, QueuePolicy: batcher.QueuePolicy{MaxQueueSize: 10}, Instances: 1}
		b, err := batcher.New(cfg, model.execute, noop.NewTracerProvider().Tracer(""), metrics)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return &bench{b, model, registry, metrics, 8}
	}
	const all = 8
	old, other := open("1"), open("2")
	if got := <-old.send(t.Context(), t, request(1, 1, 4)); got.err != nil {
		t.Fatal(got.err)
	}
	fresh := open("1")
	old.Close()
	old.Close() // counts once
	if got := series(t, registry, "1"); len(got) != all {
		t.Errorf("the new instance has the series %v", got)
	}
	if got := <-fresh.send(t.Context(), t, request(1, 1, 4)); got.err != nil {
		t.Fatal(got.err)
	}
	if got := fresh.counter(t, "triptych_batch_size", "1"); got != 2 {
		t.Errorf("%v batches, want those of both", got)
	}
	fresh.Close()
	if got := series(t, registry, "1"); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
	if got := series(t, registry, "2"); len(got) != all {
		t.Errorf("the other version has the series %v", got)
	}
	again := open("1")
	if got := again.counter(t, "triptych_batch_size", "1"); got != 0 {
		t.Errorf("the next instance begins with %v batches", got)
	}
	other.Close()
}
