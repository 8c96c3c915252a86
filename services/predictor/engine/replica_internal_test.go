package engine

import (
	"context"
	"encoding/binary"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"triptych/shared/oip"
)

// several is a session with two replicas, which are two sessions on the CPU here
// and would be one on each GPU.
func several(t *testing.T, lib *Library, counts ...int) *Session {
	t.Helper()
	where := plan{asked: "cuda"}
	for _, n := range counts {
		where.placements = append(where.placements, placement{device: Device{Kind: CPU}, count: n})
	}
	cfg := parsed(t, `default_model_filename: "slow.onnx"
		input [ { name: "x" data_type: TYPE_INT64 dims: [ 1 ] } ] output [ { name: "y" data_type: TYPE_INT64 dims: [ 1 ] } ]`)
	load, err := lib.prepare(cfg, "testdata", Settings{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{model: "m", contract: load.contract, asked: where.asked, logger: load.logger, traffic: lib.traffic, usage: lib.usage}
	for _, p := range where.placements {
		r, err := openReplica(load, p, load.tuning.at(Cores(), p)) // without the probe, which takes its time here
		if err != nil {
			t.Fatal(err)
		}
		s.replicas = append(s.replicas, r)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func running(s *Session) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n []int
	for _, r := range s.replicas {
		n = append(n, r.running)
	}
	return n
}

// Runs go to the device with the least to do for its instances.
func TestRunsGoToTheLeastLoaded(t *testing.T) {
	lib := openLibrary(t)
	t.Cleanup(func() { _ = lib.Close() })
	s := several(t, lib, 1, 3)
	if s.Instances() != 4 || len(s.Devices()) != 2 {
		t.Errorf("%d instances on %v", s.Instances(), s.Devices())
	}
	var taken []*replica
	count := func() (first, second int) {
		n := running(s)
		return n[0], n[1]
	}
	for range 8 {
		taken = append(taken, s.take())
	}
	if first, second := count(); first != 2 || second != 6 {
		t.Errorf("8 runs go %d and %d, want 2 and 6", first, second)
	}
	for _, r := range taken {
		s.release(r)
	}
	a := s.take()
	s.release(a)
	b := s.take()
	s.release(b)
	if a == b {
		t.Error("runs that come one after the other all go to one device")
	}
}

// Both devices run at once, each run is stopped by its own context, and the span
// of a run says where it was.
func TestReplicasRunAtOnce(t *testing.T) {
	lib := openLibrary(t)
	t.Cleanup(func() { _ = lib.Close() })
	s := several(t, lib, 1, 1)
	spans := tracetest.NewSpanRecorder()
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test")
	in := []oip.Tensor{{Name: "x", Datatype: "INT64", Shape: []int64{1}, Data: binary.LittleEndian.AppendUint64(nil, 1)}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			ctx, span := tracer.Start(ctx, "batch")
			defer span.End()
			if _, err := s.Run(ctx, in); err == nil {
				t.Error("the run came to its end")
			}
		})
	}
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		if n := running(s); n[0] == 1 && n[1] == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if n := running(s); n[0] != 1 || n[1] != 1 {
		t.Errorf("%v run", n)
	}
	cancel()
	group.Wait()
	if n := running(s); n[0] != 0 || n[1] != 0 {
		t.Errorf("%v still run", n)
	}
	for _, span := range spans.Ended() {
		set := attribute.NewSet(span.Attributes()...)
		for key, want := range map[attribute.Key]string{"triptych.device": "cpu", "triptych.execution_provider": "CPUExecutionProvider", "triptych.device.requested": "cuda"} {
			if got, _ := set.Value(key); got.AsString() != want {
				t.Errorf("%s is %q, want %q", key, got.AsString(), want)
			}
		}
	}
}

// What was stopped does not stop the next run.
func TestSlotOfAStoppedRunIsNotUsedAgain(t *testing.T) {
	lib := openLibrary(t)
	t.Cleanup(func() { _ = lib.Close() })
	s := several(t, lib, 1)
	in := []oip.Tensor{{Name: "x", Datatype: "INT64", Shape: []int64{1}, Data: binary.LittleEndian.AppendUint64(nil, 1)}}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := s.Run(ctx, in); err == nil || !strings.Contains(err.Error(), "deadline") {
			t.Errorf("error %v", err)
		}
		cancel()
		if n := len(s.replicas[0].slots); n != 0 {
			t.Errorf("%d slots are kept", n)
		}
	}
}
