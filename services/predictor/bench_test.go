package predictor_test

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ort "github.com/yalue/onnxruntime_go"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triptych/proto/inference"
	predictor "triptych/services/predictor"
	"triptych/services/predictor/batcher"
	"triptych/services/predictor/engine"
	"triptych/shared/heap"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/scheduling"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// BenchmarkIdentity is what the batcher itself costs one caller who waits for each
// answer: the model gives back what it gets. RunParallel would not do: with a
// caller for each core it would show the time between answers, not that of one.
func BenchmarkIdentity(b *testing.B) {
	metrics, err := batcher.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	cfg, err := modelconfig.ParseText("config.pbtxt", []byte(`backend: "identity" max_batch_size: 16
input { name: "x" data_type: TYPE_FP32 dims: 16 } output { name: "x" data_type: TYPE_FP32 dims: 16 }
dynamic_batching { max_queue_delay_microseconds: 10000 }`))
	if err != nil {
		b.Fatal(err)
	}
	identity := func(_ context.Context, inputs []oip.Tensor) ([]oip.Tensor, time.Duration, error) {
		return inputs, 0, nil
	}
	batches, err := batcher.New(batcher.FromModel(cfg, "1", 1000, 1), identity, noop.NewTracerProvider().Tracer(""), metrics)
	if err != nil {
		b.Fatal(err)
	}
	defer batches.Close()
	req := &inference.ModelInferRequest{}
	oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "FP32", Shape: []int64{1, 16}, Data: make([]byte, 64)})
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := batches.Do(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// benchCallers is how many callers there are at once.
const benchCallers = 16

// BenchmarkFloat32 is what the way to the session costs: images a second of the
// sample classifier's version 1 on the CPU, by the session alone, by the model
// with its batcher, and over gRPC. The three take turns of some seconds, and what
// counts is the median of the ratios of neighbours: what a machine with neighbours of
// its own can do changes within seconds. The process is scheduled, and collects its
// garbage, as the service does.
func BenchmarkFloat32(b *testing.B) {
	class := scheduling.DefaultConfig()
	if err := class.Apply(); err != nil {
		b.Fatal(err)
	}
	defer heap.Tune(heap.DefaultConfig())()
	on, _ := backend(b, yielding)
	model := load(b, on, sample(b, 1))
	if err := model.(modelserver.Warmer).WarmUp(b.Context()); err != nil {
		b.Fatal(err)
	}
	client := served(b)
	ways := []*way{
		{name: "bare", callers: engine.Cores(), call: bareCall(b)},
		{name: "batched", callers: benchCallers, call: inProcess(b.Context(), model)},
		{name: "grpc", callers: benchCallers, call: func(req *inference.ModelInferRequest) error {
			_, err := client.ModelInfer(b.Context(), req)
			return err
		}},
	}
	for _, w := range ways {
		w.turn(b)
		w.speeds = nil
	}
	for b.Loop() {
		for _, w := range ways {
			w.turn(b)
		}
	}
	for _, w := range ways {
		b.ReportMetric(median(w.speeds), w.name+"-images/s")
		if w != ways[0] {
			ratios := make([]float64, len(w.speeds))
			for i, speed := range w.speeds {
				ratios[i] = speed / ways[0].speeds[i]
			}
			b.ReportMetric(median(ratios), w.name+"/bare")
		}
	}
}

// yielding is how the service runs.
func yielding(cfg *predictor.Config) { cfg.YieldProcessors = true }

func median(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[len(sorted)/2]
}

// way is one of the ways to run the model.
type way struct {
	name    string
	callers int
	call    func(*inference.ModelInferRequest) error
	speeds  []float64 // images a second, of each turn
}

// inProcess asks a model.
func inProcess(ctx context.Context, model modelserver.Model) func(*inference.ModelInferRequest) error {
	return func(req *inference.ModelInferRequest) error {
		_, err := model.Infer(ctx, req)
		return err
	}
}

// turnCalls take two or three seconds on two cores: a service that has become busy
// needs a fifth of one to yield its processors.
const turnCalls = 512

// turn calls from all callers at once.
func (w *way) turn(tb testing.TB) {
	tb.Helper()
	var left atomic.Int64
	left.Store(turnCalls)
	var group sync.WaitGroup
	begin := time.Now()
	for n := range w.callers {
		req := picture(uint64(n), 1)
		req.ModelName, req.ModelVersion = "efficientnet_lite0", "1"
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := w.call(req); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	w.speeds = append(w.speeds, turnCalls/time.Since(begin).Seconds())
}

// bareCall runs ONNX Runtime with nothing of ours around it: a run for each core,
// one thread a run, one image at a time, tensors made beforehand.
func bareCall(b *testing.B) func(*inference.ModelInferRequest) error {
	b.Helper()
	options, err := ort.NewSessionOptions()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = options.Destroy() }()
	for _, set := range []func() error{
		func() error { return options.SetIntraOpNumThreads(1) },
		func() error { return options.SetInterOpNumThreads(1) },
		func() error { return options.AddSessionConfigEntry("session.intra_op.allow_spinning", "0") },
	} {
		if err := set(); err != nil {
			b.Fatal(err)
		}
	}
	file := filepath.Join(testkit.Path(b, "models", "efficientnet_lite0"), "1", "model.onnx")
	session, err := ort.NewDynamicAdvancedSession(file, []string{"image"}, []string{"logits"}, options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = session.Destroy() })
	free := make(chan func() error, engine.Cores())
	for range cap(free) {
		free <- bareRun(b, session)
	}
	return func(*inference.ModelInferRequest) error {
		run := <-free
		defer func() { free <- run }()
		return run()
	}
}

func bareRun(b *testing.B, session *ort.DynamicAdvancedSession) func() error {
	b.Helper()
	data := picture(0, 1).GetRawInputContents()[0]
	in, err := ort.NewTensor(ort.NewShape(1, 224, 224, 3), data)
	if err != nil {
		b.Fatal(err)
	}
	out, err := ort.NewEmptyTensor[float32](ort.NewShape(1, 1000))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Destroy()
		_ = out.Destroy()
	})
	return func() error { return session.Run([]ort.Value{in}, []ort.Value{out}) }
}

// served is a whole predictor with the sample repository, and a client of it.
func served(b *testing.B) inference.GRPCInferenceServiceClient {
	b.Helper()
	cfg, own := stage.DefaultConfig(), predictor.DefaultConfig()
	yielding(&own)
	cfg.Repository = []string{testkit.Path(b, "models")}
	cfg.GRPCAddress, cfg.Admin.Address = "127.0.0.1:0", "127.0.0.1:0"
	s, err := stage.NewWithBackends(b.Context(), "predictor", cfg, io.Discard, func(tel *telemetry.Telemetry) ([]modelserver.Backend, error) {
		return predictor.NewBackends(own, tel)
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(b.Context()))
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.Run(ctx, s.Service, func() { close(started) }) }()
	<-started
	conn, err := grpc.NewClient(s.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.Close()
		end()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	client := inference.NewGRPCInferenceServiceClient(conn)
	testkit.Eventually(b, 60e9, "the model is ready", func() bool {
		resp, err := client.ModelReady(b.Context(), &inference.ModelReadyRequest{Name: "efficientnet_lite0", Version: "1"})
		return err == nil && resp.GetReady()
	})
	return client
}
