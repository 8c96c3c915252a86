package batcher_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"triptych/proto/inference"
	"triptych/services/predictor/batcher"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// plusOne is the fake model's own answer.
func plusOne(in oip.Tensor) []oip.Tensor {
	data := make([]byte, len(in.Data))
	for i := 0; i < len(data); i += 4 {
		binary.LittleEndian.PutUint32(data[i:], binary.LittleEndian.Uint32(in.Data[i:])+1)
	}
	return []oip.Tensor{{Name: "y", Datatype: in.Datatype, Shape: in.Shape, Data: data}}
}

// One poisonous request among eight fails alone; the others get their answers,
// each counted as an execution of its own.
func TestPoisonFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{}, delay(time.Millisecond))
		b.model.run = func(_ context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
			for i := 0; i < len(in[0].Data); i += 4 {
				if binary.LittleEndian.Uint32(in[0].Data[i:]) == 13 {
					return nil, failure.New(failure.Internal, "poison")
				}
			}
			return plusOne(in[0]), nil
		}
		requests := []*inference.ModelInferRequest{request(1, 2, 4), request(13, 1, 4), request(3, 1, 4), request(4, 3, 4)}
		responses, timings, errs := inOneBatch(t, b, requests...)
		for i, req := range requests {
			if i == 1 {
				wantKind(t, errs[i], failure.Internal)
				continue
			}
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if err := answered(req, responses[i]); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
			if timings[i].Executions != 1 || timings[i].Batch != int(req.Inputs[0].Shape[0]) {
				t.Errorf("caller %d: timing %+v", i, timings[i])
			}
		}
		if got, want := b.model.sizes(), []int{7, 2, 1, 1, 3}; !slices.Equal(got, want) {
			t.Errorf("ran batches of %v, want %v", got, want)
		}
		if got := b.counter(t, "triptych_batch_retries_total", "failed"); got != 1 {
			t.Errorf("%v counted", got)
		}
	})
}

// Who has gone meanwhile is not waited for, and its memory is its own again.
func TestPoisonWhileCallersLeave(t *testing.T) {
	model := &fakeModel{}
	var mu sync.Mutex
	n := 0
	model.run = func(_ context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%3 == 0 {
			return nil, errors.New("every third")
		}
		return plusOne(in[0]), nil
	}
	b := start(t, model, delay(200*time.Microsecond), func(c *batcher.Config) { c.Instances = 2 })
	var group sync.WaitGroup
	for n := range uint32(100) {
		group.Go(func() {
			for round := range uint32(10) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(n+round)%5)*time.Millisecond)
				req := request(n*10+round, 1+int(round%3), 4)
				<-b.send(ctx, t, req)
				clear(req.RawInputContents[0])
				cancel()
			}
		})
	}
	group.Wait()
}

// memory is a model that takes at most so many rows at once.
func memory(most *int) func(context.Context, []oip.Tensor) ([]oip.Tensor, error) {
	return func(_ context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
		if int(in[0].Shape[0]) > *most {
			return nil, fmt.Errorf("allocate: %w", batcher.ErrOutOfMemory)
		}
		return plusOne(in[0]), nil
	}
}

func (b *bench) gauge(tb testing.TB, name string) float64 {
	tb.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	tb.Fatalf("no metric %s", name)
	return 0
}

// A batch that does not fit into the device's memory runs in halves, and the next
// ones are smaller, for a while.
func TestOutOfMemoryHalvesTheBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := 3
		b := start(t, &fakeModel{run: memory(&most)}, delay(time.Millisecond))
		var requests []*inference.ModelInferRequest
		for n := range uint32(8) {
			requests = append(requests, request(n, 1, 4))
		}
		ask := func() {
			responses, _, errs := inOneBatch(t, b, requests...)
			for i, err := range errs {
				if err != nil {
					t.Fatal(err)
				}
				if err := answered(requests[i], responses[i]); err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
			}
		}
		ask()
		if got, want := b.model.sizes(), []int{8, 4, 2, 2, 4, 2, 2}; !slices.Equal(got, want) {
			t.Errorf("ran batches of %v, want %v", got, want)
		}
		if got := b.gauge(t, "triptych_batch_limit_rows"); got != 2 {
			t.Errorf("the limit is %v, want 2", got)
		}
		before := len(b.model.sizes())
		ask()
		if got, want := b.model.sizes()[before:], []int{2, 2, 2, 2}; !slices.Equal(got, want) {
			t.Errorf("then batches of %v, want %v", got, want)
		}
		most = 8
		for _, want := range []float64{4, 8} { // also when nobody asks for anything
			time.Sleep(31 * time.Second)
			if got := b.gauge(t, "triptych_batch_limit_rows"); got != want {
				t.Errorf("the limit came back to %v, want %v", got, want)
			}
		}
		before = len(b.model.sizes())
		ask()
		if got, want := b.model.sizes()[before:], []int{8}; !slices.Equal(got, want) {
			t.Errorf("in the end batches of %v, want %v", got, want)
		}
	})
}

// A single row that does not fit fails; it never runs for ever.
func TestOutOfMemoryForOneRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := 0
		b := start(t, &fakeModel{run: memory(&most)}, delay(time.Millisecond))
		_, _, errs := inOneBatch(t, b, request(1, 1, 4), request(2, 3, 4))
		for _, err := range errs {
			if !errors.Is(err, batcher.ErrOutOfMemory) {
				t.Errorf("error %v", err)
			}
		}
		if got, want := b.model.sizes(), []int{4, 1, 3}; !slices.Equal(got, want) {
			t.Errorf("ran batches of %v, want %v", got, want)
		}
	})
}

// With preserve_ordering the answers come in the order of the requests, though
// later ones are ready first; one that leaves holds nobody up.
func TestPreserveOrdering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{}, func(c *batcher.Config) { c.PreserveOrdering, c.Instances, c.MaxBatchSize = true, 3, 1 })
		b.model.run = func(_ context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
			time.Sleep(time.Duration(binary.LittleEndian.Uint32(in[0].Data)) * time.Second)
			return plusOne(in[0]), nil
		}
		gone, leave := context.WithCancel(t.Context())
		waits := []uint32{5, 9, 1, 2}
		var all []<-chan outcome
		for i, n := range waits {
			ctx := t.Context()
			if i == 1 {
				ctx = gone
			}
			all = append(all, b.send(ctx, t, request(n, 1, 4)))
			synctest.Wait()
		}
		time.Sleep(6 * time.Second)
		leave()
		for i, want := range []time.Duration{5 * time.Second, 6 * time.Second, 6 * time.Second, 6 * time.Second} {
			if i == 1 {
				// It waits until its batch no longer reads its memory.
				continue
			}
			if got := <-all[i]; got.err != nil || got.took != want {
				t.Errorf("request %d: %v after %s, want %s", i, got.err, got.took, want)
			}
		}
		<-all[1]
	})
}

// A request of more rows than a batch takes is refused, or runs in parts where
// the configuration says so.
func TestSplit(t *testing.T) {
	for _, split := range []bool{false, true} {
		t.Run(strconv.FormatBool(split), func(t *testing.T) {
			b := start(t, &fakeModel{}, func(c *batcher.Config) { c.Split, c.Instances = split, 2 })
			req := &inference.ModelInferRequest{}
			var data []byte
			for n := range uint32(21 * 2) {
				data = binary.LittleEndian.AppendUint32(data, n)
			}
			oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "UINT32", Shape: []int64{21, 2}, Data: data})
			resp, timing, err := b.Do(t.Context(), req)
			if !split {
				wantKind(t, err, failure.Invalid)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := plusOne(oip.Tensor{Data: data})[0].Data
			if !slices.Equal(resp.RawOutputContents[0], want) || !slices.Equal(resp.Outputs[0].Shape, []int64{21, 2}) {
				t.Errorf("shape %v, data %v", resp.Outputs[0].Shape, resp.RawOutputContents[0])
			}
			if got := b.model.sizes(); b.model.rows() != 21 || timing.Executions != len(got) {
				t.Errorf("ran %v, timing %+v", got, timing)
			}
		})
	}
}

func TestSplitThatFails(t *testing.T) {
	b := start(t, &fakeModel{}, func(c *batcher.Config) { c.Split = true })
	b.model.run = func(_ context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
		return nil, failure.New(failure.Internal, "broken")
	}
	_, _, err := b.Do(t.Context(), request(1, 20, 2))
	wantKind(t, err, failure.Internal)
	two := request(1, 20, 2)
	oip.AddInput(two, oip.Tensor{Name: "z", Datatype: "UINT32", Shape: []int64{19, 2}, Data: make([]byte, 19*8)})
	_, _, err = b.Do(t.Context(), two)
	wantKind(t, err, failure.Invalid)
	short := request(1, 20, 2)
	short.RawInputContents[0] = short.RawInputContents[0][:100]
	_, _, err = b.Do(t.Context(), short)
	wantKind(t, err, failure.Invalid)
}

// A batch that runs for too long is told, for a probe to see.
func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Hour})
		if err := b.metrics.Stalled(0); err != nil {
			t.Errorf("idle: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		runs := b.send(ctx, t, request(1, 1, 4))
		time.Sleep(30 * time.Second)
		waits := b.send(ctx, t, request(2, 1, 4))
		time.Sleep(30 * time.Second)
		if err := b.metrics.Stalled(time.Minute); err != nil {
			t.Errorf("within its time: %v", err)
		}
		if running, oldest := b.gauge(t, "triptych_batch_running_seconds"), b.gauge(t, "triptych_queue_oldest_seconds"); running != 60 || oldest != 30 {
			t.Errorf("runs for %v s, the oldest waits for %v s", running, oldest)
		}
		time.Sleep(time.Second)
		wantKind(t, b.metrics.Stalled(time.Minute), failure.Unavailable)
		cancel()
		<-runs
		<-waits
		synctest.Wait()
		if err := b.metrics.Stalled(0); err != nil {
			t.Errorf("idle again: %v", err)
		}
		b.Close()
		if err := b.metrics.Stalled(0); err != nil {
			t.Errorf("closed: %v", err)
		}
	})
}

// When the members that have their answers are not counted, nobody waits for the
// rest of the batch any longer: a run that hangs is given up, and does not hold the
// instance for ever.
func TestRetryThatHangsEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{}, delay(time.Millisecond), func(c *batcher.Config) { c.Policy = batcher.Triton })
		b.model.run = func(ctx context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
			switch {
			case in[0].Shape[0] > 1:
				return nil, failure.New(failure.Internal, "not together")
			case binary.LittleEndian.Uint32(in[0].Data) == 13:
				<-ctx.Done()
				return nil, failure.OfContext(ctx)
			}
			return plusOne(in[0]), nil
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := b.send(t.Context(), t, request(1, 1, 4))
		synctest.Wait()
		hangs := b.send(impatient, t, request(13, 1, 4))
		synctest.Wait()
		last := b.send(impatient, t, request(3, 1, 4))
		if got := <-first; got.err != nil {
			t.Fatal(got.err)
		}
		wantKind(t, (<-hangs).err, failure.Deadline)
		wantKind(t, (<-last).err, failure.Deadline)
		if got := <-b.send(t.Context(), t, request(4, 1, 4)); got.err != nil || got.took > time.Second {
			t.Errorf("the next caller: %v after %s", got.err, got.took)
		}
	})
}
