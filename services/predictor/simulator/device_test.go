package simulator_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/services/predictor/simulator"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

func TestTimeBySize(t *testing.T) {
	tests := map[string]struct {
		config string
		n      int
		want   time.Duration
	}{
		"one":          {plain, 1, 5150 * time.Microsecond},
		"a full batch": {plain, 8, 6200 * time.Microsecond},
		"its own":      {with(plain, "fixed_us", "1000", "per_item_us", "2000"), 3, 7 * time.Millisecond},
		"none":         {with(plain, "fixed_us", "0", "per_item_us", "0"), 8, 0},
		"no batches":   {`name: "m" input { name: "x" data_type: TYPE_UINT8 dims: [ -1, 2 ] } output { name: "y" data_type: TYPE_FP32 dims: 3 }`, 7, 5150 * time.Microsecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := mustLoad(t, tt.config)
				for range 2 {
					if got, err := took(t.Context(), m, rows(make([]byte, tt.n)...)); err != nil || got != tt.want {
						t.Errorf("took %s, %v, want %s", got, err, tt.want)
					}
				}
			})
		})
	}
}

// Requests that come while an instance is busy wait for it; there are as many at
// once as there are instances, and batches form behind them.
func TestOneBatchAtATimeForEachInstance(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string]struct {
		extra string
		want  []time.Duration
	}{
		"one instance":  {"", []time.Duration{10 * ms, 20 * ms, 30 * ms, 40 * ms}},
		"two instances": {"instance_group { count: 2 }", []time.Duration{10 * ms, 10 * ms, 20 * ms, 20 * ms}},
		"with batches":  {"dynamic_batching { }", []time.Duration{10 * ms, 20 * ms, 20 * ms, 20 * ms}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := mustLoad(t, with(plain, "fixed_us", "10000", "per_item_us", "0")+tt.extra)
				var mu sync.Mutex
				var got []time.Duration
				var group sync.WaitGroup
				for range 4 {
					group.Go(func() {
						d, err := took(t.Context(), m, rows(1))
						if err != nil {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						got = append(got, d)
					})
					synctest.Wait()
				}
				if n := m.(modelserver.PendingCounter).Pending(); n == 0 {
					t.Error("nobody waits")
				}
				group.Wait()
				slices.Sort(got)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("times (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A caller that leaves, or its deadline, ends what runs for it alone.
func TestTheTimeEndsWithItsCaller(t *testing.T) {
	for name, config := range map[string]string{
		"a batch": with(plain, "fixed_us", "1000000"),
		"a hang":  with(plain, "fail_every", "1", "fail_with", "hang"),
	} {
		for _, goTimers := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, Go's timers: %t", name, goTimers), func(t *testing.T) {
				m, err := loadBy(t, simulator.Config{MaxQueueSize: 1, GoTimers: goTimers}, config)
				if err != nil {
					t.Fatal(err)
				}
				for range 3 { // the instance is free for the next
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
					got, err := took(ctx, m, rows(1))
					cancel()
					wantKind(t, err, failure.Deadline)
					if got > 900*time.Millisecond {
						t.Errorf("left after %s", got)
					}
				}
			})
		}
	}
}

func TestShapesOfTheAnswer(t *testing.T) {
	const (
		in1 = ` input { name: "a" data_type: TYPE_UINT8 dims: [ -1, 2 ] }`
		in2 = ` input { name: "b" data_type: TYPE_STRING dims: [ -1 ] optional: true }`
	)
	a := func(shape ...int64) oip.Tensor {
		n, err := oip.Elements(shape)
		if err != nil {
			t.Fatal(err)
		}
		return oip.Tensor{Name: "a", Datatype: "UINT8", Shape: shape, Data: make([]byte, n)}
	}
	b := oip.Tensor{Name: "b", Datatype: "BYTES", Shape: []int64{2, 3}, Data: make([]byte, 24)}
	tests := map[string]struct {
		config string
		inputs []oip.Tensor
		want   []oip.Tensor
	}{
		"fixed": {
			`max_batch_size: 4` + in1 + `output [ { name: "y" data_type: TYPE_FP16 dims: [ 3, 1 ] }, { name: "z" data_type: TYPE_STRING dims: 5 } ]`,
			[]oip.Tensor{a(2, 1, 2)},
			[]oip.Tensor{{Name: "y", Datatype: "FP16", Shape: []int64{2, 3, 1}, Data: make([]byte, 12)}, {Name: "z", Datatype: "BYTES", Shape: []int64{2, 5}, Data: make([]byte, 40)}},
		},
		"free, as the input": {
			`max_batch_size: 4` + in1 + `output { name: "y" data_type: TYPE_INT64 dims: [ -1, 4 ] }`,
			[]oip.Tensor{a(2, 7, 2)},
			[]oip.Tensor{{Name: "y", Datatype: "INT64", Shape: []int64{2, 7, 4}, Data: make([]byte, 2*7*4*8)}},
		},
		"free, as the input in its place": {
			`max_batch_size: 4` + in1 + in2 + `output [ { name: "y" data_type: TYPE_BOOL dims: 1 }, { name: "z" data_type: TYPE_UINT8 dims: -1 }, { name: "w" data_type: TYPE_UINT8 dims: [ -1, -1 ] } ]`,
			[]oip.Tensor{a(2, 7, 2), b},
			[]oip.Tensor{
				{Name: "y", Datatype: "BOOL", Shape: []int64{2, 1}, Data: make([]byte, 2)},
				{Name: "z", Datatype: "UINT8", Shape: []int64{2, 3}, Data: make([]byte, 6)},
				{Name: "w", Datatype: "UINT8", Shape: []int64{2, 7, 2}, Data: make([]byte, 28)},
			},
		},
		"free, of another rank or absent": {
			`max_batch_size: 4` + in1 + in2 + `output [ { name: "y" data_type: TYPE_UINT8 dims: -1 }, { name: "z" data_type: TYPE_UINT8 dims: -1 } ]`,
			[]oip.Tensor{a(2, 7, 2)},
			[]oip.Tensor{{Name: "y", Datatype: "UINT8", Shape: []int64{2, 1}, Data: make([]byte, 2)}, {Name: "z", Datatype: "UINT8", Shape: []int64{2, 1}, Data: make([]byte, 2)}},
		},
		"no batches": {
			in1 + `output { name: "y" data_type: TYPE_FP32 dims: [ -1, 3 ] }`,
			[]oip.Tensor{a(5, 2)},
			[]oip.Tensor{{Name: "y", Datatype: "FP32", Shape: []int64{5, 3}, Data: make([]byte, 60)}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp, err := mustLoad(t, with(`name: "m" `+tt.config, "fixed_us", "0")).Infer(t.Context(), tensors(tt.inputs...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, answers(resp)); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

func answers(resp *inference.ModelInferResponse) []oip.Tensor {
	var all []oip.Tensor
	for _, o := range resp.GetOutputs() {
		t, _ := oip.Output(resp, o.GetName())
		all = append(all, t)
	}
	return all
}

// A request can't make an answer of any size.
func TestAnswerTooLarge(t *testing.T) {
	m := mustLoad(t, `name: "m" input { name: "x" data_type: TYPE_UINT8 dims: [ -1, 1 ] } output { name: "y" data_type: TYPE_FP32 dims: [ -1, 1000000 ] }`)
	_, err := m.Infer(t.Context(), tensors(oip.Tensor{Name: "x", Datatype: "UINT8", Shape: []int64{1000, 1}, Data: make([]byte, 1000)}))
	wantKind(t, err, failure.TooLarge)
}

// With echo, everybody gets their own bytes back, whoever shares the batch.
func TestEcho(t *testing.T) {
	m := mustLoad(t, with(`name: "m" max_batch_size: 4 dynamic_batching { }
		input [ { name: "x" data_type: TYPE_UINT8 dims: 2 }, { name: "s" data_type: TYPE_STRING dims: 1 } ]
		output [ { name: "y" data_type: TYPE_UINT8 dims: 2 }, { name: "s" data_type: TYPE_STRING dims: 1 } ]`, "echo", "true", "fixed_us", "500"))
	var group sync.WaitGroup
	for n := range byte(40) {
		group.Go(func() {
			text := oip.JoinStrings(fmt.Sprint(n))
			req := tensors(oip.Tensor{Name: "x", Datatype: "UINT8", Shape: []int64{1, 2}, Data: []byte{n, n + 1}}, oip.Tensor{Name: "s", Datatype: "BYTES", Shape: []int64{1, 1}, Data: text})
			resp, err := m.Infer(t.Context(), req)
			if err != nil {
				t.Error(err)
				return
			}
			clear(req.RawInputContents[0]) // the caller's again
			y, _ := oip.Output(resp, "y")
			s, _ := oip.Output(resp, "s")
			if !bytes.Equal(y.Data, []byte{n, n + 1}) || !bytes.Equal(s.Data, text) {
				t.Errorf("%d gets %v and %q", n, y.Data, s.Data)
			}
		})
	}
	group.Wait()
}
