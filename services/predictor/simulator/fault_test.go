package simulator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"triptych/services/predictor/batcher"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Batches are counted by the device, not by what is asked of it: how often a
// failed batch is tried again is the batcher's affair.
func TestFailEvery(t *testing.T) {
	tests := map[string]struct {
		pairs  []string
		kind   failure.Kind
		takes  time.Duration // what the failing batch takes
		memory bool
	}{
		"error":         {nil, failure.Internal, 5150 * time.Microsecond, false},
		"out of memory": {[]string{"fail_with", "out_of_memory"}, failure.Internal, 0, true},
		"hang":          {[]string{"fail_with", "hang"}, failure.Deadline, time.Minute, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := mustLoad(t, with(plain, append(tt.pairs, "fail_every", "3")...))
				for i := range 2 {
					if _, err := took(t.Context(), m, rows(1)); err != nil {
						t.Errorf("batch %d: %v", i, err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				got, err := took(ctx, m, rows(1))
				wantKind(t, err, tt.kind)
				if got != tt.takes || errors.Is(err, batcher.ErrOutOfMemory) != tt.memory {
					t.Errorf("took %s and failed with %v", got, err)
				}
				synctest.Wait()
				if _, err := took(t.Context(), m, rows(1)); err != nil {
					t.Errorf("the next: %v", err)
				}
			})
		})
	}
}

// A hang that ends makes a batch late, and no more.
func TestHangThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mustLoad(t, with(plain, "fail_every", "2", "fail_with", "hang", "hang_us", "1000000"))
		for _, want := range []time.Duration{5150 * time.Microsecond, time.Second + 5150*time.Microsecond} {
			if got, err := took(t.Context(), m, rows(1)); err != nil || got != want {
				t.Errorf("took %s, %v, want %s", got, err, want)
			}
		}
	})
}

func TestMemoryLimit(t *testing.T) {
	m := mustLoad(t, with(plain, "memory_limit_bytes", "350", "memory_per_item_bytes", "100", "fixed_us", "0"))
	if _, err := m.Infer(t.Context(), rows(1, 2, 3)); err != nil {
		t.Errorf("three: %v", err)
	}
	_, err := m.Infer(t.Context(), rows(1, 2, 3, 4))
	wantKind(t, err, failure.Internal)
	if !errors.Is(err, batcher.ErrOutOfMemory) {
		t.Errorf("error %v is not out of memory", err)
	}
	if want := `model "standin": a batch of 4, each of 100 bytes, does not fit into the simulated memory of 350 bytes`; failure.Message(err) != want {
		t.Errorf("message %q, want %q", failure.Message(err), want)
	}
}

func TestPoison(t *testing.T) {
	m := mustLoad(t, with(plain, "poison", "7", "fixed_us", "0"))
	for name, tt := range map[string]struct {
		firsts []byte
		fails  bool
	}{
		"none": {[]byte{1, 2, 3}, false}, "alone": {[]byte{7}, true}, "first": {[]byte{7, 1}, true}, "last": {[]byte{1, 2, 7}, true},
	} {
		if _, err := m.Infer(t.Context(), rows(tt.firsts...)); (err != nil) != tt.fails {
			t.Errorf("%s: error %v", name, err)
		}
	}
	// only the first byte of a row counts
	req := rows(1, 2)
	req.RawInputContents[0][1] = 7
	if _, err := m.Infer(t.Context(), req); err != nil {
		t.Errorf("a second byte: %v", err)
	}
}

func TestPoisonousText(t *testing.T) {
	m := mustLoad(t, with(`name: "m" max_batch_size: 4 input { name: "s" data_type: TYPE_STRING dims: 2 } output { name: "y" data_type: TYPE_UINT8 dims: 1 }`,
		"poison", "120", "fixed_us", "0"))
	for name, tt := range map[string]struct {
		texts []string
		fails bool
	}{
		"none":                 {[]string{"a", "", "", "b"}, false},
		"first text of a row":  {[]string{"a", "b", "xyz", ""}, true},
		"second text of a row": {[]string{"a", "x", "b", "x"}, false},
	} {
		in := oip.Tensor{Name: "s", Datatype: "BYTES", Shape: []int64{2, 2}, Data: oip.JoinStrings(tt.texts...)}
		if _, err := m.Infer(t.Context(), tensors(in)); (err != nil) != tt.fails {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
