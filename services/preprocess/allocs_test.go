package preprocess_test

import (
	"context"
	"math"
	"runtime"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"triptych/services/preprocess/decode"
	"triptych/shared/telemetry"
)

// In the steady state an image takes few allocations, none of a picture's size but
// the answer. The request is one that nobody traces, with a caller that may go.
func TestAllocationsPerImage(t *testing.T) {
	if decode.JPEGDecoder != "libjpeg-turbo" {
		return // Go's decoder makes what it likes
	}
	m, req := load(t, sample(t), telemetry.Discard()), request(image(t, "cat.jpg"))
	ctx, cancel := context.WithCancel(trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1},
	})))
	defer cancel()
	// The least of many: a collection, or the race detector, empties the pools now and then.
	count, bytes := uint64(math.MaxUint64), uint64(math.MaxUint64)
	for range 100 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := m.InferTimed(ctx, req)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		count, bytes = min(count, after.Mallocs-before.Mallocs), min(bytes, after.TotalAlloc-before.TotalAlloc)
	}
	const most, answer, beside = 20, 224 * 224 * 3, 16 << 10
	if count > most {
		t.Errorf("%d allocations, want %d at most", count, most)
	}
	if bytes > answer+beside {
		t.Errorf("%d bytes, of which the answer has %d", bytes, answer)
	}
	t.Logf("%d allocations, %d bytes beside the answer", count, bytes-answer)
}
