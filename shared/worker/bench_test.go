package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/proto/inference"
	"triptych/shared/jobs"
	"triptych/shared/oip"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/natstest"
)

// sized is a model that answers with so many bytes at once.
func sized(bytes int) infer {
	data := make([]byte, bytes)
	return func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		resp := &inference.ModelInferResponse{ModelName: req.GetModelName(), ModelVersion: "1"}
		oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "FP32", Shape: []int64{int64(bytes / 4)}, Data: data})
		return resp, nil
	}
}

// BenchmarkThreeSteps is what the road itself costs an item of a photograph: models
// that cost nothing, a service each, and a server in the process.
func BenchmarkThreeSteps(b *testing.B) {
	server := natstest.Server(b)
	store := natstest.Store(b, server)
	cfg := settings()
	cfg.Slots = 0
	for name, bytes := range map[string]int{"a": 150 << 10, "b": 4 << 10, "c": 200} {
		open(b, cfg, natstest.Store(b, server), newModels(map[string]infer{name: sized(bytes)}), telemetry.Discard())
	}
	data := chain(b, "a", "b", "c")
	verdicts, err := store.Connection().JetStream().OrderedConsumer(b.Context(), stream.Verdicts, jetstream.OrderedConsumerConfig{HeadersOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	messages, err := verdicts.Messages()
	if err != nil {
		b.Fatal(err)
	}
	defer messages.Stop()
	const credit = 64
	room := make(chan struct{}, credit)
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		for i := range uint32(b.N) {
			room <- struct{}{}
			beginImage(b, store, data, i)
		}
	}()
	for range b.N {
		if _, err := messages.Next(); err != nil {
			b.Fatal(err)
		}
		<-room
	}
}

func beginImage(b *testing.B, store *jobs.Store, data []byte, index uint32) {
	b.Helper()
	task := item(b, store, data, "j", index, 1)
	task.Pool.RawInputContents[0] = make([]byte, 80<<10)
	task.Pool.Inputs[0].Shape = []int64{20 << 10}
	for store.Begin(b.Context(), task) != nil && b.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
}
