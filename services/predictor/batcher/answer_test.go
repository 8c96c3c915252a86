package batcher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"triptych/proto/inference"
	"triptych/services/predictor/batcher"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

// inOneBatch sends requests so that all of them share a batch.
func inOneBatch(t *testing.T, b *bench, requests ...*inference.ModelInferRequest) ([]*inference.ModelInferResponse, []modelserver.Timing, []error) {
	t.Helper()
	responses := make([]*inference.ModelInferResponse, len(requests))
	timings := make([]modelserver.Timing, len(requests))
	errs := make([]error, len(requests))
	var group sync.WaitGroup
	for i, req := range requests {
		group.Go(func() { responses[i], timings[i], errs[i] = b.Do(t.Context(), req) })
		synctest.Wait()
	}
	group.Wait()
	return responses, timings, errs
}

// BAT-05: everyone gets its own rows, in order, whatever the sizes.
func TestRowsGoToTheirCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{}, delay(time.Millisecond))
		requests := []*inference.ModelInferRequest{request(10, 3, 4), request(20, 2, 4), request(30, 1, 4)}
		responses, timings, errs := inOneBatch(t, b, requests...)
		for i, req := range requests {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if err := answered(req, responses[i]); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
			if data := responses[i].RawOutputContents[0]; cap(data) != len(data) {
				t.Errorf("caller %d can write into its neighbour's answer", i)
			}
			if timings[i].Batch != 6 {
				t.Errorf("batch of %d, want 6", timings[i].Batch)
			}
		}
		if got := []int{timings[0].Executions, timings[1].Executions, timings[2].Executions}; !slices.Equal(got, []int{1, 0, 0}) {
			t.Errorf("executions %v, want one request to speak for the batch", got)
		}
	})
}

// BYTES have rows of different lengths.
func TestRowsOfStrings(t *testing.T) {
	echo := func(_ context.Context, inputs []oip.Tensor) ([]oip.Tensor, error) {
		in := inputs[0]
		return []oip.Tensor{{Name: "y", Datatype: in.Datatype, Shape: in.Shape, Data: slices.Clone(in.Data)}}, nil
	}
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{run: echo}, delay(time.Millisecond))
		rows := [][]string{{"a", "bb"}, {"", strings.Repeat("c", 1000), "d", "ee"}}
		var requests []*inference.ModelInferRequest
		for _, r := range rows {
			req := &inference.ModelInferRequest{}
			oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "BYTES", Shape: []int64{int64(len(r) / 2), 2}, Data: oip.JoinStrings(r...)})
			requests = append(requests, req)
		}
		responses, _, errs := inOneBatch(t, b, requests...)
		for i := range rows {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if !slices.Equal(responses[i].RawOutputContents[0], requests[i].RawInputContents[0]) || !slices.Equal(responses[i].Outputs[0].Shape, requests[i].Inputs[0].Shape) {
				t.Errorf("caller %d got %q", i, responses[i].RawOutputContents[0])
			}
		}
		if got := b.model.sizes(); !slices.Equal(got, []int{3}) {
			t.Errorf("batches of %v", got)
		}
	})
}

// BAT-06: rows are never assigned by guess.
func TestModelWithOtherRowsThanItsBatch(t *testing.T) {
	answer := func(shape []int64, bytes int) func(context.Context, []oip.Tensor) ([]oip.Tensor, error) {
		return func(context.Context, []oip.Tensor) ([]oip.Tensor, error) {
			return []oip.Tensor{{Name: "y", Datatype: "UINT32", Shape: shape, Data: make([]byte, bytes)}}, nil
		}
	}
	cases := map[string]struct {
		run  func(context.Context, []oip.Tensor) ([]oip.Tensor, error)
		want string
	}{
		"averaged":   {answer([]int64{1, 4}, 16), `output "y" with shape [1,4] for a batch of 2`},
		"transposed": {answer([]int64{4, 2}, 32), `output "y" with shape [4,2] for a batch of 2`},
		"scalar":     {answer(nil, 4), `output "y" with shape [] for a batch of 2`},
		"uncounted":  {answer([]int64{2, 1 << 60}, 32), `output "y" with shape [2,1152921504606846976], which is too large to count`},
		"too short":  {answer([]int64{2, 4}, 28), `too few bytes for output "y"`},
		"too long":   {answer([]int64{2, 4}, 36), `4 bytes too many for output "y"`},
		"broken strings": {func(context.Context, []oip.Tensor) ([]oip.Tensor, error) {
			return []oip.Tensor{{Name: "y", Datatype: "BYTES", Shape: []int64{2, 1}, Data: []byte{0, 0, 0, 0, 9, 0, 0, 0, 1}}}, nil
		}, `too few bytes for output "y"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, &fakeModel{run: c.run}, delay(time.Millisecond))
				_, _, errs := inOneBatch(t, b, request(1, 1, 4), request(2, 1, 4))
				for _, err := range errs {
					wantKind(t, err, failure.Internal)
					if !strings.Contains(failure.Message(err), c.want) {
						t.Errorf("message %q lacks %q", failure.Message(err), c.want)
					}
				}
			})
		})
	}
}

func TestFailureGoesToEveryMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		b := start(t, &fakeModel{}, delay(time.Millisecond))
		b.model.run = func(_ context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
			if broken {
				return nil, failure.Wrap(errors.New("out of memory"), failure.Internal, "the model failed")
			}
			return []oip.Tensor{{Name: "y", Datatype: "UINT32", Shape: in[0].Shape, Data: slices.Clone(in[0].Data)}}, nil
		}
		_, timings, errs := inOneBatch(t, b, request(1, 1, 4), request(2, 1, 4))
		for i, err := range errs {
			wantKind(t, err, failure.Internal)
			if timings[i].Batch != 1 || timings[i].Executions != 0 {
				t.Errorf("timing %+v", timings[i])
			}
		}
		broken = false
		if _, _, err := b.Do(t.Context(), request(3, 1, 4)); err != nil {
			t.Errorf("after a failure: %v", err)
		}
	})
}

// BAT-01: what got past the checks with a wrong batch is refused before it can
// shift a neighbour's rows.
func TestInconsistentBatchIsRefused(t *testing.T) {
	two := func(a, b []int64) *inference.ModelInferRequest {
		req := &inference.ModelInferRequest{}
		oip.AddInput(req, oip.Tensor{Name: "a", Datatype: "UINT32", Shape: a})
		oip.AddInput(req, oip.Tensor{Name: "b", Datatype: "UINT32", Shape: b})
		return req
	}
	cases := map[string]*inference.ModelInferRequest{
		"no dimension":       two([]int64{}, []int64{1}),
		"zero":               two([]int64{0}, []int64{0}),
		"above the maximum":  two([]int64{9}, []int64{9}),
		"two batches in one": two([]int64{2}, []int64{3}),
	}
	for name, req := range cases {
		t.Run(name, func(t *testing.T) {
			b := start(t, &fakeModel{})
			_, _, err := b.Do(t.Context(), req)
			wantKind(t, err, failure.Invalid)
		})
	}
}

// A request that is alone is not copied; one among others is copied once, into
// memory that no caller sees.
func TestPassThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []*byte
		b := start(t, &fakeModel{}, delay(time.Millisecond))
		b.model.run = func(_ context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
			seen = append(seen, &in[0].Data[0])
			return []oip.Tensor{{Name: "y", Datatype: "UINT32", Shape: in[0].Shape, Data: slices.Clone(in[0].Data)}}, nil
		}
		alone := request(1, 1, 4)
		if _, _, err := b.Do(t.Context(), alone); err != nil {
			t.Fatal(err)
		}
		if seen[0] != &alone.RawInputContents[0][0] {
			t.Error("a request that was alone was copied")
		}
		pair := []*inference.ModelInferRequest{request(2, 1, 4), request(3, 1, 4)}
		inOneBatch(t, b, pair...)
		inOneBatch(t, b, pair...)
		if seen[1] == &pair[0].RawInputContents[0][0] {
			t.Error("a batch was built in a caller's memory")
		}
		if seen[1] != seen[2] {
			t.Error("the batch buffer is not used again")
		}
	})
}

func TestTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: 7 * time.Millisecond}, delay(5*time.Millisecond))
		_, timing, err := b.Do(t.Context(), request(1, 1, 4))
		if err != nil {
			t.Fatal(err)
		}
		want := modelserver.Timing{Queue: 5 * time.Millisecond, ComputeInfer: 7 * time.Millisecond, Batch: 1, Executions: 1}
		if timing != want {
			t.Errorf("timing %+v, want %+v", timing, want)
		}
	})
}

// A full queue refuses at once and says when to come again, from how fast the
// last batches were and how many wait.
func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Second}, func(c *batcher.Config) { c.MaxQueueSize, c.MaxBatchSize = 6, 2 })
		warm := b.send(t.Context(), t, request(1, 2, 4))
		<-warm
		var all []<-chan outcome
		for n := range uint32(7) { // 1 runs, 6 wait
			all = append(all, b.send(t.Context(), t, request(n, 2, 4)))
			synctest.Wait()
		}
		got := <-b.send(t.Context(), t, request(99, 2, 4))
		wantKind(t, got.err, failure.Busy)
		if got.took != 0 {
			t.Errorf("refused after %s", got.took)
		}
		if after := failure.RetryAfter(got.err); after != 6*time.Second {
			t.Errorf("retry after %s, want the 6 batches of a second that wait", after)
		}
		for _, r := range all {
			if got := <-r; got.err != nil {
				t.Error(got.err)
			}
		}
		if b.model.ran(99) {
			t.Error("what was refused was executed")
		}
	})
}

// Closing finishes what is held, at once and not after its delay, and refuses
// what comes later.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Second}, delay(time.Hour))
		var all []<-chan outcome
		for n := range uint32(3) {
			all = append(all, b.send(t.Context(), t, request(n, 1, 4)))
		}
		synctest.Wait()
		begin := time.Now()
		var group sync.WaitGroup
		for range 3 {
			group.Go(b.Close)
		}
		synctest.Wait()
		wantKind(t, (<-b.send(t.Context(), t, request(9, 1, 4))).err, failure.Unavailable)
		if got := b.counter(t, "triptych_batch_cut_total", "drain"); got != 1 {
			t.Errorf("%v batches cut by drain", got)
		}
		group.Wait()
		if took := time.Since(begin); took != time.Second {
			t.Errorf("closed after %s, want after the batch that was held", took)
		}
		for _, r := range all {
			if got := <-r; got.err != nil {
				t.Error(got.err)
			}
		}
		b.Close()
	})
}

func TestValidate(t *testing.T) {
	good := batcher.Config{Model: "m", MaxBatchSize: 8, Dynamic: true, QueuePolicy: batcher.QueuePolicy{MaxQueueSize: 1}, Instances: 1}
	cases := map[string]option{
		"batch":     func(c *batcher.Config) { c.MaxBatchSize = -1 },
		"queue":     func(c *batcher.Config) { c.MaxQueueSize = 0 },
		"instances": func(c *batcher.Config) { c.Instances = 0 },
		"preferred": func(c *batcher.Config) { c.Preferred = []int{9} },
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			bad := good
			spoil(&bad)
			wantKind(t, bad.Validate(), failure.Invalid)
			if _, err := batcher.New(bad, nil, nil, nil); err == nil {
				t.Error("New takes it")
			}
		})
	}
}

func TestFromModel(t *testing.T) {
	cfg := &inference.ModelConfig{
		Name: "m", MaxBatchSize: 16,
		SchedulingChoice: &inference.ModelConfig_DynamicBatching{DynamicBatching: &inference.ModelDynamicBatching{
			PreferredBatchSize: []int32{4, 8}, MaxQueueDelayMicroseconds: 1500,
			DefaultQueuePolicy: &inference.ModelQueuePolicy{
				TimeoutAction: inference.ModelQueuePolicy_DELAY, DefaultTimeoutMicroseconds: 1 << 63, AllowTimeoutOverride: true, MaxQueueSize: 7,
			},
		}},
	}
	want := batcher.Config{
		Model: "m", Version: "3", MaxBatchSize: 16, Dynamic: true, Preferred: []int{4, 8}, Delay: 1500 * time.Microsecond,
		QueuePolicy: batcher.QueuePolicy{MaxQueueSize: 7, Timeout: 24 * time.Hour, TimeoutDelays: true, TimeoutOverride: true}, Instances: 2,
	}
	if got := batcher.FromModel(cfg, "3", 100, 2); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	plain := batcher.FromModel(&inference.ModelConfig{Name: "m", MaxBatchSize: 16}, "1", 100, 1)
	if plain.Dynamic || plain.MaxQueueSize != 100 {
		t.Errorf("without dynamic_batching: %+v", plain)
	}
}
