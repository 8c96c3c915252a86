package batcher_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace/noop"

	"triptych/services/predictor/batcher"
	"triptych/shared/oip"
)

// BenchmarkDo is what the batcher itself costs: the model does nothing.
func BenchmarkDo(b *testing.B) {
	data := make([]byte, 64*4*4)
	nothing := func(_ context.Context, inputs []oip.Tensor) ([]oip.Tensor, time.Duration, error) {
		in := inputs[0]
		return []oip.Tensor{{Name: "y", Datatype: in.Datatype, Shape: in.Shape, Data: data[:len(in.Data)]}}, 0, nil
	}
	cases := map[string]struct {
		dynamic bool
		callers int
	}{
		"alone":                         {false, 1},
		"batched, one caller at once":   {true, 1},
		"batched, many callers at once": {true, 64},
	}
	for name, c := range cases {
		b.Run(name, func(b *testing.B) {
			metrics, err := batcher.NewMetrics(prometheus.NewRegistry())
			if err != nil {
				b.Fatal(err)
			}
			cfg := batcher.Config{Model: "m", Version: "1", MaxBatchSize: 64, Dynamic: c.dynamic, QueuePolicy: batcher.QueuePolicy{MaxQueueSize: 10000}, Instances: 1}
			batches, err := batcher.New(cfg, nothing, noop.NewTracerProvider().Tracer(""), metrics)
			if err != nil {
				b.Fatal(err)
			}
			defer batches.Close()
			b.ReportAllocs()
			b.SetParallelism(c.callers)
			b.RunParallel(func(pb *testing.PB) {
				req := request(1, 1, 4)
				for pb.Next() {
					if _, _, err := batches.Do(context.Background(), req); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// In the steady state a request costs at most five small allocations, whatever the
// model costs.
func TestAllocations(t *testing.T) {
	data := make([]byte, 16)
	outputs := []oip.Tensor{{Name: "y", Datatype: "UINT32", Shape: []int64{1, 4}, Data: data}}
	metrics, err := batcher.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	cfg := batcher.Config{Model: "m", Version: "1", MaxBatchSize: 8, Dynamic: true, QueuePolicy: batcher.QueuePolicy{MaxQueueSize: 10}, Instances: 1}
	batches, err := batcher.New(cfg, func(context.Context, []oip.Tensor) ([]oip.Tensor, time.Duration, error) { return outputs, 0, nil }, noop.NewTracerProvider().Tracer(""), metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer batches.Close()
	req := request(1, 1, 4)
	found := testing.AllocsPerRun(500, func() {
		if _, _, err := batches.Do(t.Context(), req); err != nil {
			t.Error(err)
		}
	})
	if found > 5 {
		t.Errorf("%.1f allocations a request, at most 5 are wanted", found)
	}
}
