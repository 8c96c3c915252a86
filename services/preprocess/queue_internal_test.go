package preprocess

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// From inside, so that a worker can be held as long as a test wants.

func newModel(t *testing.T, config Config) *model {
	t.Helper()
	data, err := os.ReadFile(testkit.Path(t, "models", "imagenet_preprocess", modelconfig.Filename))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := modelconfig.ParseText(modelconfig.Filename, data)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBackend(config, telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := b.Load(context.Background(), modelserver.Spec{Config: cfg, Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, ok := loaded.(*model)
	if !ok {
		t.Fatalf("loaded a %T", loaded)
	}
	return m
}

func catRequest(t *testing.T) *inference.ModelInferRequest {
	t.Helper()
	data, err := os.ReadFile(testkit.Path(t, "testdata", "images", "cat.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	req := &inference.ModelInferRequest{}
	oip.AddInput(req, oip.Tensor{Name: "IMAGE", Datatype: oip.Bytes, Shape: []int64{1, 1}, Data: oip.JoinStrings(data)})
	return req
}

func TestWaitingForAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := DefaultConfig()
		config.Workers, config.Queue = 1, 2
		m, req := newModel(t, config), catRequest(t)
		grant, err := m.backend.queue.Admit(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		type answer struct {
			timing modelserver.Timing
			err    error
		}
		call := func(ctx context.Context) chan answer {
			c := make(chan answer, 1)
			go func() {
				_, timing, err := m.InferTimed(ctx, req)
				c <- answer{timing, err}
			}()
			synctest.Wait()
			return c
		}
		patient := call(t.Context())
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late := call(hurried)
		if n := m.Pending(); n != 2 {
			t.Errorf("%d requests are pending, want 2", n)
		}
		if got := <-call(t.Context()); failure.KindOf(got.err) != failure.Busy {
			t.Errorf("a third request got %v, want busy", got.err)
		}
		begin := time.Now()
		if got := <-late; failure.KindOf(got.err) != failure.Deadline || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v, want its deadline after a second", time.Since(begin), got.err)
		}
		time.Sleep(time.Second)
		grant.Release()
		got := <-patient
		if got.err != nil || got.timing.Queue != 2*time.Second {
			t.Errorf("waited %v and got %v, want 2s and a tensor", got.timing.Queue, got.err)
		}
		if n := m.Pending(); n != 0 {
			t.Errorf("%d requests are still pending", n)
		}
		for range config.Queue {
			if err := m.backend.queue.Enter(1); err != nil {
				t.Errorf("the queue is not empty: %v", err)
			}
		}
	})
}

// A bad header is told at once, with no worker and in whatever place of a batch.
func TestBadHeadersWaitForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := DefaultConfig()
		config.Workers = 1
		m, req := newModel(t, config), catRequest(t)
		grant, err := m.backend.queue.Admit(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer grant.Release()
		req.Inputs[0].Shape = []int64{2, 1}
		req.RawInputContents[0] = append(req.RawInputContents[0], oip.JoinStrings([]byte("%PDF-1.7"))...)
		_, err = m.Infer(t.Context(), req)
		if failure.KindOf(err) != failure.UnsupportedMedia || !strings.HasPrefix(failure.Message(err), "image 1: ") {
			t.Errorf("got %v, want a refusal of image 1", err)
		}
	})
}

// A batch whose caller goes leaves the line at once: no image of it is decoded.
func TestBatchWhoseCallerHasGoneIsNotDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := DefaultConfig()
		config.Workers = 2
		m, req := newModel(t, config), catRequest(t)
		req.Inputs[0].Shape = []int64{8, 1}
		req.RawInputContents[0] = bytes.Repeat(req.RawInputContents[0], 8)
		for range config.Workers {
			grant, err := m.backend.queue.Admit(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer grant.Release()
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := m.Infer(ctx, req)
			ended <- err
		}()
		synctest.Wait()
		time.Sleep(time.Second)
		begin := time.Now()
		cancel()
		if err := <-ended; failure.KindOf(err) != failure.Cancelled || time.Since(begin) != 0 {
			t.Errorf("after %v: %v, want Cancelled at once", time.Since(begin), err)
		}
	})
}

func TestWorkersBoundABatch(t *testing.T) {
	config := DefaultConfig()
	config.Workers = 1
	m, req := newModel(t, config), catRequest(t)
	one := req.RawInputContents[0]
	req.Inputs[0].Shape = []int64{4, 1}
	for range 3 {
		req.RawInputContents[0] = append(req.RawInputContents[0], one...)
	}
	if _, err := m.Infer(context.Background(), req); err != nil {
		t.Error(err)
	}
}

// A request that gives up while it waits holds no memory for its answer: that is
// when there are many of them.
func TestWhoGivesUpHoldsNoMemory(t *testing.T) {
	m := newModel(t, DefaultConfig())
	for range m.backend.cfg.Workers {
		grant, err := m.backend.queue.Admit(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer grant.Release()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	images, err := m.images(catRequest(t))
	if err != nil {
		t.Fatal(err)
	}
	j, err := m.begin(t.Context(), append(images, images...))
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.run(ctx)
	j.end()
	if failure.KindOf(err) != failure.Deadline || j.out != nil {
		t.Errorf("%v with %d bytes, want the deadline and none", err, len(j.out))
	}
	if n := m.Pending(); n != 0 {
		t.Errorf("%d requests are still pending", n)
	}
}

// brokenTracer panics when work on an image begins.
type brokenTracer struct{ noop.Tracer }

func (brokenTracer) Start(context.Context, string, ...trace.SpanStartOption) (context.Context, trace.Span) {
	panic("broken")
}

// A panic is one request's failure, on whatever goroutine, and the workers are there
// for the next.
func TestPanicIsTheRequestsOwn(t *testing.T) {
	config := DefaultConfig()
	config.Workers = 2
	m, req := newModel(t, config), catRequest(t)
	one := req.RawInputContents[0]
	whole := m.backend.tracer
	for name, c := range map[string]struct {
		images int64
		want   string
	}{
		"alone": {1, "the backend broke on the image"},
		"batch": {4, "image 0: the backend broke on the image"},
	} {
		t.Run(name, func(t *testing.T) {
			req.Inputs[0].Shape = []int64{c.images, 1}
			req.RawInputContents[0] = bytes.Repeat(one, int(c.images))
			m.backend.tracer = brokenTracer{}
			_, err := m.Infer(t.Context(), req)
			var panicked *failure.Panic
			if failure.KindOf(err) != failure.Internal || failure.Message(err) != c.want || !errors.As(err, &panicked) {
				t.Errorf("got %v, want %q with a panic as its cause", err, c.want)
			}
			m.backend.tracer = whole
			if _, err := m.Infer(t.Context(), req); err != nil {
				t.Errorf("after the panic: %v", err)
			}
		})
	}
}
