package batcher_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"triptych/proto/inference"
	"triptych/services/predictor/batcher"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fakeModel takes its time for each batch and answers, for every row, the row
// plus one. It remembers what it ran.
type fakeModel struct {
	took time.Duration
	// work is the processor time of a row, as the batcher is told.
	work time.Duration
	// run replaces the answer when it is set.
	run func(ctx context.Context, inputs []oip.Tensor) ([]oip.Tensor, error)

	mu      sync.Mutex
	batches [][]uint32 // the first number of each row
	active  int
	most    int // batches at once
}

func (f *fakeModel) execute(ctx context.Context, inputs []oip.Tensor) ([]oip.Tensor, time.Duration, error) {
	in := inputs[0]
	width := len(in.Data) / int(max(in.Shape[0], 1))
	var firsts []uint32
	for row := range int(in.Shape[0]) {
		firsts = append(firsts, binary.LittleEndian.Uint32(in.Data[row*width:]))
	}
	f.mu.Lock()
	f.batches = append(f.batches, firsts)
	f.active++
	f.most = max(f.most, f.active)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.active--
	}()
	if f.took > 0 {
		select {
		case <-time.After(f.took):
		case <-ctx.Done():
			return nil, 0, failure.OfContext(ctx)
		}
	}
	work := time.Duration(in.Shape[0]) * f.work
	if f.run != nil {
		outputs, err := f.run(ctx, inputs)
		return outputs, work, err
	}
	data := make([]byte, len(in.Data))
	for i := 0; i < len(data); i += 4 {
		binary.LittleEndian.PutUint32(data[i:], binary.LittleEndian.Uint32(in.Data[i:])+1)
	}
	return []oip.Tensor{{Name: "y", Datatype: in.Datatype, Shape: in.Shape, Data: data}}, work, nil
}

// sizes are the rows of each batch, in the order in which they began.
func (f *fakeModel) sizes() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sizes []int
	for _, b := range f.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

func (f *fakeModel) rows() int {
	n := 0
	for _, size := range f.sizes() {
		n += size
	}
	return n
}

func (f *fakeModel) ran(number uint32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.batches, func(b []uint32) bool { return slices.Contains(b, number) })
}

// bench is a batcher with its surroundings.
type bench struct {
	*batcher.Batcher
	model    *fakeModel
	registry *prometheus.Registry
	metrics  *batcher.Metrics
	limit    int // max_batch_size
}

type option func(*batcher.Config)

func start(tb testing.TB, model *fakeModel, options ...option) *bench {
	tb.Helper()
	return startTraced(tb, model, noop.NewTracerProvider().Tracer(""), options...)
}

func startTraced(tb testing.TB, model *fakeModel, tracer trace.Tracer, options ...option) *bench {
	tb.Helper()
	cfg := batcher.Config{Model: "m", Version: "1", MaxBatchSize: 8, Dynamic: true, Policy: batcher.Triton, Instances: 1}
	cfg.MaxQueueSize = 1000
	for _, o := range options {
		o(&cfg)
	}
	registry := prometheus.NewRegistry()
	metrics, err := batcher.NewMetrics(registry)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := batcher.New(cfg, model.execute, tracer, metrics)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.Close)
	return &bench{b, model, registry, metrics, cfg.MaxBatchSize}
}

func delay(d time.Duration) option { return func(c *batcher.Config) { c.Delay = d } }

// request is one of so many rows, all numbered alike, of so many numbers.
func request(number uint32, rows, width int) *inference.ModelInferRequest {
	var data []byte
	for range rows * width {
		data = binary.LittleEndian.AppendUint32(data, number)
	}
	req := &inference.ModelInferRequest{}
	oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "UINT32", Shape: []int64{int64(rows), int64(width)}, Data: data})
	return req
}

// answered fails unless the response is the fake model's for the request.
func answered(req *inference.ModelInferRequest, resp *inference.ModelInferResponse) error {
	want := request(binary.LittleEndian.Uint32(req.RawInputContents[0])+1, int(req.Inputs[0].Shape[0]), int(req.Inputs[0].Shape[1]))
	if len(resp.GetOutputs()) != 1 {
		return fmt.Errorf("%d outputs", len(resp.GetOutputs()))
	}
	if !slices.Equal(resp.Outputs[0].Shape, want.Inputs[0].Shape) || !slices.Equal(resp.RawOutputContents[0], want.RawInputContents[0]) {
		return fmt.Errorf("shape %v, data %v, want shape %v, data %v", resp.Outputs[0].Shape, resp.RawOutputContents[0], want.Inputs[0].Shape, want.RawInputContents[0])
	}
	return nil
}

// outcome is what became of a request.
type outcome struct {
	err    error
	took   time.Duration
	timing modelserver.Timing
}

// send runs a request in the background and reports what became of it.
func (b *bench) send(ctx context.Context, tb testing.TB, req *inference.ModelInferRequest) <-chan outcome {
	tb.Helper()
	done := make(chan outcome, 1)
	begin := time.Now()
	go func() {
		resp, timing, err := b.Do(ctx, req)
		if err == nil {
			if wrong := answered(req, resp); wrong != nil {
				tb.Errorf("another answer than its own: %v", wrong)
			}
		}
		done <- outcome{err, time.Since(begin), timing}
	}()
	return done
}

// sendAny is send for answers of any content.
func (b *bench) sendAny(ctx context.Context, req *inference.ModelInferRequest) <-chan outcome {
	done := make(chan outcome, 1)
	begin := time.Now()
	go func() {
		_, timing, err := b.Do(ctx, req)
		done <- outcome{err, time.Since(begin), timing}
	}()
	return done
}

// counter reads a counter by its name and the values of its labels.
func (b *bench) counter(tb testing.TB, name string, labels ...string) float64 {
	tb.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if hasLabels(m, labels) {
				return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	tb.Fatalf("no metric %s%v", name, labels)
	return 0
}

func hasLabels(m *dto.Metric, values []string) bool {
	for _, v := range values {
		if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == v }) {
			return false
		}
	}
	return true
}

func wantKind(t *testing.T, err error, kind failure.Kind) {
	t.Helper()
	if err == nil || failure.KindOf(err) != kind {
		t.Errorf("error %v, want one of kind %s", err, kind)
	}
}
