package modelserver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

// slowly runs a test in a bubble with a cached model whose run takes a second.
func slowly(t *testing.T, test func(t *testing.T, s *modelserver.Service, r *modelserver.Registry, m *counting)) {
	t.Helper()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": cachedConfig})
	synctest.Test(t, func(t *testing.T) {
		m := &counting{factor: 2, before: func(ctx context.Context, _ *inference.ModelInferRequest) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return failure.OfContext(ctx)
			}
		}}
		r := newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) { return m, nil }))
		test(t, newService(r), r, m)
	})
}

// caller is one who asks, and what became of it.
type caller struct {
	resp *inference.ModelInferResponse
	err  error
	took time.Duration
	done chan struct{}
}

func asking(ctx context.Context, s *modelserver.Service) *caller {
	c := &caller{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		start := time.Now()
		c.resp, c.err = s.ModelInfer(ctx, row(1, 2))
		c.took = time.Since(start)
	}()
	return c
}

// is checks where an answer came from, or the kind of the failure, and when.
func (c *caller) is(t *testing.T, want string, took time.Duration) {
	t.Helper()
	<-c.done
	got := from(c.resp)
	if c.err != nil {
		got = failure.KindOf(c.err).String()
	}
	if got != want || c.took != took {
		t.Errorf("got %s after %s, want %s after %s (%v)", got, c.took, want, took, c.err)
	}
}

func TestEqualRequestsRunOnce(t *testing.T) {
	t.Parallel()
	slowly(t, func(t *testing.T, s *modelserver.Service, _ *modelserver.Registry, m *counting) {
		callers := make([]*caller, 100)
		for i := range callers {
			callers[i] = asking(t.Context(), s)
		}
		led := 0
		for _, c := range callers {
			<-c.done
			if from(c.resp) == modelserver.CacheMiss {
				led++
				continue
			}
			c.is(t, "coalesced", time.Second)
			if queue := c.resp.GetParameters()[modelserver.QueueParameter].GetInt64Param(); queue != 1e6 {
				t.Errorf("one who waited a second says %d us", queue)
			}
			c.resp.Outputs[0].Name = "mine" // -race would see a message that is shared
		}
		if led != 1 || m.runs.Load() != 1 {
			t.Errorf("%d led, %d runs", led, m.runs.Load())
		}
		if got := ask(t, s, 1, 2); got != "hit" {
			t.Errorf("afterwards it is a %s", got)
		}
	})
}

func TestFailureGoesToAllAndIsNotKept(t *testing.T) {
	t.Parallel()
	slowly(t, func(t *testing.T, s *modelserver.Service, _ *modelserver.Registry, m *counting) {
		for _, fail := range []func() error{
			func() error { return failure.New(failure.Busy, "full") },
			func() error { return failure.New(failure.Deadline, "the queue policy") },
			func() error { panic("index out of range") },
		} {
			m.before = func(context.Context, *inference.ModelInferRequest) error { time.Sleep(time.Second); return fail() }
			before := m.runs.Load()
			callers := []*caller{asking(t.Context(), s), asking(t.Context(), s), asking(t.Context(), s)}
			for _, c := range callers {
				<-c.done
				if c.err == nil || failure.KindOf(c.err) != failure.KindOf(callers[0].err) || c.took != time.Second {
					t.Errorf("got %v after %s", c.err, c.took)
				}
			}
			asking(t.Context(), s).is(t, failure.KindOf(callers[0].err).String(), time.Second)
			if n := m.runs.Load() - before; n != 2 {
				t.Errorf("%d runs", n)
			}
		}
	})
}

// The run belongs to no caller: it goes on while anybody waits.
func TestLeaderGoes(t *testing.T) {
	t.Parallel()
	slowly(t, func(t *testing.T, s *modelserver.Service, r *modelserver.Registry, m *counting) {
		ctx, cancel := context.WithCancel(t.Context())
		leader := asking(ctx, s)
		synctest.Wait()
		follower := asking(t.Context(), s)
		time.Sleep(300 * time.Millisecond)
		cancel()
		leader.is(t, "CANCELLED", 300*time.Millisecond)
		follower.is(t, "coalesced", time.Second)
		got := stats(t, s)
		if m.runs.Load() != 1 || got.GetInferenceCount() != 1 || got.GetExecutionCount() != 1 || got.GetInferenceStats().GetCacheMiss().GetCount() != 1 {
			t.Errorf("%d runs, counted as %v", m.runs.Load(), got)
		}
		if got := ask(t, s, 1, 2); got != "hit" {
			t.Errorf("afterwards it is a %s", got)
		}
	})
}

// When nobody waits any more the run is cancelled, and nobody joins it.
func TestAllGo(t *testing.T) {
	t.Parallel()
	slowly(t, func(t *testing.T, s *modelserver.Service, r *modelserver.Registry, m *counting) {
		var ended atomic.Int64
		m.before = func(ctx context.Context, _ *inference.ModelInferRequest) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				time.Sleep(100 * time.Millisecond) // a run takes a while to end
				ended.Add(1)
				return failure.OfContext(ctx)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		one, two := asking(ctx, s), asking(ctx, s)
		time.Sleep(300 * time.Millisecond)
		cancel()
		one.is(t, "CANCELLED", 300*time.Millisecond)
		two.is(t, "CANCELLED", 300*time.Millisecond)
		asking(t.Context(), s).is(t, "miss", time.Second)
		if m.runs.Load() != 2 || ended.Load() != 1 {
			t.Errorf("%d runs, %d of them cancelled", m.runs.Load(), ended.Load())
		}
		// The execution that was cancelled was one: who speaks for a batch may have gone.
		if got := stats(t, s); got.GetExecutionCount() != 2 || got.GetInferenceCount() != 1 {
			t.Errorf("got %v", got)
		}
	})
}

func TestDeadlinesOfEqualRequests(t *testing.T) {
	t.Parallel()
	within := func(t *testing.T, d time.Duration) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		t.Cleanup(cancel)
		return ctx
	}
	t.Run("a follower's own", func(t *testing.T) {
		t.Parallel()
		slowly(t, func(t *testing.T, s *modelserver.Service, _ *modelserver.Registry, m *counting) {
			leader := asking(t.Context(), s)
			synctest.Wait()
			asking(within(t, 400*time.Millisecond), s).is(t, "DEADLINE", 400*time.Millisecond)
			leader.is(t, "miss", time.Second)
			if m.runs.Load() != 1 {
				t.Errorf("%d runs", m.runs.Load())
			}
		})
	})
	t.Run("the leader's is not a follower's", func(t *testing.T) {
		t.Parallel()
		slowly(t, func(t *testing.T, s *modelserver.Service, _ *modelserver.Registry, m *counting) {
			leader := asking(within(t, 500*time.Millisecond), s)
			synctest.Wait()
			same := asking(within(t, 500*time.Millisecond), s)
			var patient []*caller
			for range 10 {
				patient = append(patient, asking(t.Context(), s))
			}
			leader.is(t, "DEADLINE", 500*time.Millisecond)
			same.is(t, "DEADLINE", 500*time.Millisecond)
			led := 0
			for _, c := range patient {
				<-c.done
				if from(c.resp) == modelserver.CacheMiss {
					led++
				}
				if c.err != nil || c.took != 1500*time.Millisecond {
					t.Errorf("got %v after %s", c.err, c.took)
				}
			}
			if led != 1 || m.runs.Load() != 2 {
				t.Errorf("%d led, %d runs", led, m.runs.Load())
			}
		})
	})
	// Nobody waits for a second run that gives up before it would itself.
	t.Run("at most two runs long", func(t *testing.T) {
		t.Parallel()
		slowly(t, func(t *testing.T, s *modelserver.Service, _ *modelserver.Registry, m *counting) {
			var all []*caller
			hasty := func(n int) {
				for range n {
					all = append(all, asking(within(t, 500*time.Millisecond), s))
					synctest.Wait()
					time.Sleep(50 * time.Millisecond)
				}
			}
			hasty(8)
			patient := asking(t.Context(), s) // at 400 ms: the first run gives up at 500
			hasty(20)
			patient.is(t, "miss", 1100*time.Millisecond)
			for _, c := range all {
				<-c.done
			}
		})
	})
}

// A request waits for no run that is less urgent.
func TestUrgentRequestsRunAlone(t *testing.T) {
	t.Parallel()
	slowly(t, func(t *testing.T, s *modelserver.Service, _ *modelserver.Registry, m *counting) {
		one := asking(t.Context(), s)
		two := asking(call.With(t.Context(), call.Info{Priority: 1}), s)
		one.is(t, "miss", time.Second)
		two.is(t, "miss", time.Second)
		asking(call.With(t.Context(), call.Info{Priority: 1}), s).is(t, "hit", 0)
		if m.runs.Load() != 2 {
			t.Errorf("%d runs", m.runs.Load())
		}
	})
}

// Spans say where answers came from; who shared a run is linked to who led it.
func TestSpansOfCachedAnswers(t *testing.T) {
	t.Parallel()
	slowly(t, func(t *testing.T, s *modelserver.Service, _ *modelserver.Registry, _ *counting) {
		kept := tracetest.NewInMemoryExporter()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)).Tracer("")
		var callers []*caller
		var spans []trace.Span
		for range 2 {
			ctx, span := tracer.Start(t.Context(), "call")
			callers, spans = append(callers, asking(ctx, s)), append(spans, span)
			synctest.Wait()
		}
		callers[0].is(t, "miss", time.Second)
		callers[1].is(t, "coalesced", time.Second)
		for _, span := range spans {
			span.End()
		}
		got := kept.GetSpans()
		for i, want := range []string{"miss", "coalesced"} {
			if len(got[i].Attributes) != 1 || got[i].Attributes[0] != attribute.String("triptych.cache", want) || len(got[i].Links) != i {
				t.Errorf("the span of the %s has %v and the links %v", want, got[i].Attributes, got[i].Links)
			}
		}
		if got[1].Links[0].SpanContext.SpanID() != spans[0].SpanContext().SpanID() {
			t.Error("the link leads elsewhere")
		}
	})
}

// A version is not closed under a run whose leader has gone.
func TestUnloadWaitsForASharedRun(t *testing.T) {
	t.Parallel()
	slowly(t, func(t *testing.T, s *modelserver.Service, r *modelserver.Registry, m *counting) {
		ctx, cancel := context.WithCancel(t.Context())
		leader := asking(ctx, s)
		synctest.Wait()
		follower := asking(t.Context(), s)
		synctest.Wait()
		cancel()
		leader.is(t, "CANCELLED", 0)
		start := time.Now()
		if err := r.Unload(t.Context(), "m"); err != nil || time.Since(start) != time.Second {
			t.Errorf("unloaded after %s: %v", time.Since(start), err)
		}
		follower.is(t, "coalesced", time.Second)
	})
}

// Nor under one that is cancelled and has not ended yet.
func TestUnloadWaitsForACancelledRun(t *testing.T) {
	t.Parallel()
	slowly(t, func(t *testing.T, s *modelserver.Service, r *modelserver.Registry, m *counting) {
		m.before = func(ctx context.Context, _ *inference.ModelInferRequest) error {
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond)
			return failure.OfContext(ctx)
		}
		ctx, cancel := context.WithCancel(t.Context())
		leader := asking(ctx, s)
		synctest.Wait()
		cancel()
		leader.is(t, "CANCELLED", 0)
		start := time.Now()
		if err := r.Unload(t.Context(), "m"); err != nil || time.Since(start) != 100*time.Millisecond {
			t.Errorf("unloaded after %s: %v", time.Since(start), err)
		}
	})
}

// Under load, with callers that go away and models that are swapped, every answer
// is its question's and its version's.
func TestCacheUnderLoad(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": cachedConfig})
	var factor atomic.Int64
	r := newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return &counting{factor: float32(factor.Add(1))}, nil
	}))
	r.LimitResponseCache(20_000)
	s := newService(r)
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			for i := range 400 {
				ctx, cancel := context.WithCancel(t.Context())
				if (c+i)%7 == 0 {
					time.AfterFunc(20*time.Microsecond, cancel)
				}
				x, oldest := float32(i%50+1), factor.Load()-1
				resp, err := s.ModelInfer(ctx, row(x))
				newest := factor.Load()
				cancel()
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					continue
				}
				if y := servertest.Answer(resp, "y")[0]; y < x*float32(oldest) || y > x*float32(newest) {
					t.Errorf("%v gives %v between versions %d and %d", x, y, oldest, newest)
				}
			}
		})
	}
	for range 20 {
		if err := r.Load(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
	}
	callers.Wait()
}

func BenchmarkCache(b *testing.B) {
	for _, mode := range []string{"off", "hit", "miss"} {
		b.Run(fmt.Sprintf("%s with 150 kB", mode), func(b *testing.B) { benchmark(b, mode) })
	}
}

func benchmark(b *testing.B, mode string) {
	config := `backend: "double"
input { name: "x" data_type: TYPE_UINT8 dims: [ 224, 224, 3 ] }
output { name: "y" data_type: TYPE_FP32 dims: 1000 }
`
	if mode != "off" {
		config += "response_cache { enable: true }"
	}
	folder := servertest.Repository(b, map[string]string{"m/config.pbtxt": config})
	s := newService(benchmarked(b, folder, make([]byte, 4000)))
	req := &inference.ModelInferRequest{
		ModelName:        "m",
		Inputs:           []*inference.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "UINT8", Shape: []int64{224, 224, 3}}},
		RawInputContents: [][]byte{make([]byte, 224*224*3)},
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i++; mode == "miss" {
			req.RawInputContents[0][i%len(req.RawInputContents[0])]++
		}
		if _, err := s.ModelInfer(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarked(b *testing.B, folder string, y []byte) *modelserver.Registry {
	b.Helper()
	r := servertest.NewRegistry(b, telemetry.Discard(), []string{folder}, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return servertest.Model{OnInfer: func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			resp := &inference.ModelInferResponse{}
			oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "FP32", Shape: []int64{1000}, Data: y})
			return resp, nil
		}}, nil
	}))
	if err := r.LoadAll(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}
