package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Every datatype goes in and comes out with the same bits.
func TestEveryDatatype(t *testing.T) {
	halves := []uint16{0x0000, 0x8000, 0x7bff, 0x0001, 0x7e00, 0x7c00} // 0, -0, 65504, the smallest, NaN, Inf
	var narrow []byte
	for _, h := range halves {
		narrow = binary.LittleEndian.AppendUint16(narrow, h)
	}
	pattern := func(size int) []byte {
		data := make([]byte, 2*3*size)
		for i := range data {
			data[i] = byte(37*i + 11)
		}
		return data
	}
	cases := map[string][]byte{
		"BOOL": {0, 1, 1, 0, 0, 1}, "UINT8": pattern(1), "UINT16": pattern(2), "UINT32": pattern(4), "UINT64": pattern(8),
		"INT8": pattern(1), "INT16": pattern(2), "INT32": pattern(4), "INT64": pattern(8),
		"FP16": narrow, "BF16": pattern(2), "FP32": pattern(4), "FP64": pattern(8),
		"BYTES": oip.JoinStrings("", "a", "\xff\xfe not UTF-8", strings.Repeat("long ", 1<<18), "ä", "end"),
	}
	for datatype, data := range cases {
		t.Run(datatype, func(t *testing.T) {
			file, kind := strings.ToLower(datatype), "TYPE_"+datatype
			if datatype == "BYTES" {
				file, kind = "string", "TYPE_STRING"
			}
			session := load(t, testModel(t, "identity_"+file, `max_batch_size: 4
				input [ { name: "x" data_type: `+kind+` dims: [ 3 ] } ]
				output [ { name: "y" data_type: `+kind+` dims: [ 3 ] } ]`))
			got := run(t, session, oip.Tensor{Name: "x", Datatype: datatype, Shape: []int64{2, 3}, Data: data})
			if !bytes.Equal(got[0].Data, data) {
				t.Error("other bytes come out than went in")
			}
			want := []oip.Tensor{{Name: "y", Datatype: datatype, Shape: []int64{2, 3}}}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(oip.Tensor{}, "Data")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func floats(values ...float32) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

func TestShapes(t *testing.T) {
	cases := map[string]struct {
		file, config string
		in           []oip.Tensor
		want         []oip.Tensor
	}{
		"free output": {
			"dynamic_fp32", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]`,
			[]oip.Tensor{{Name: "x", Datatype: "FP32", Shape: []int64{1, 2}, Data: floats(1, 2)}},
			[]oip.Tensor{{Name: "y", Datatype: "FP32", Shape: []int64{1, 4}, Data: floats(1, 2, 1, 2)}},
		},
		"free output of no elements": {
			"dynamic_fp32", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]`,
			[]oip.Tensor{{Name: "x", Datatype: "FP32", Shape: []int64{2, 0}, Data: nil}},
			[]oip.Tensor{{Name: "y", Datatype: "FP32", Shape: []int64{2, 0}, Data: []byte{}}},
		},
		"free strings": {
			"dynamic_string", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_STRING dims: [ -1 ] } ]
			  output [ { name: "y" data_type: TYPE_STRING dims: [ -1 ] } ]`,
			[]oip.Tensor{{Name: "x", Datatype: "BYTES", Shape: []int64{2, 1}, Data: oip.JoinStrings("a", "")}},
			[]oip.Tensor{{Name: "y", Datatype: "BYTES", Shape: []int64{2, 2}, Data: oip.JoinStrings("a", "a", "", "")}},
		},
		"fp16 with dims that the configuration knows": {
			"dynamic_fp16", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP16 dims: [ 1 ] } ]
			  output [ { name: "y" data_type: TYPE_FP16 dims: [ 2 ] } ]`,
			[]oip.Tensor{{Name: "x", Datatype: "FP16", Shape: []int64{2, 1}, Data: []byte{1, 2, 3, 4}}},
			[]oip.Tensor{{Name: "y", Datatype: "FP16", Shape: []int64{2, 2}, Data: []byte{1, 2, 1, 2, 3, 4, 3, 4}}},
		},
		"no batch dimension": {
			"unbatched", `
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 2, 3 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 3, 2 ] } ]`,
			[]oip.Tensor{{Name: "x", Datatype: "FP32", Shape: []int64{2, 3}, Data: floats(1, 2, 3, 4, 5, 6)}},
			[]oip.Tensor{{Name: "y", Datatype: "FP32", Shape: []int64{3, 2}, Data: floats(1, 4, 2, 5, 3, 6)}},
		},
		"a fixed batch of one as a dimension": {
			"fixed_batch", `
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 1, 3 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 1, 3 ] } ]`,
			[]oip.Tensor{{Name: "x", Datatype: "FP32", Shape: []int64{1, 3}, Data: floats(-1, 2, -3)}},
			[]oip.Tensor{{Name: "y", Datatype: "FP32", Shape: []int64{1, 3}, Data: floats(0, 2, 0)}},
		},
		"reshape to a number for each row": {
			"vector", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [] } } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [] } } ]`,
			[]oip.Tensor{{Name: "x", Datatype: "FP32", Shape: []int64{3, 1}, Data: floats(1, 2, 3)}},
			[]oip.Tensor{{Name: "y", Datatype: "FP32", Shape: []int64{3, 1}, Data: floats(-1, -2, -3)}},
		},
		"inputs in another order, one of two outputs": {
			"two_inputs", `max_batch_size: 4
			  input [ { name: "b" data_type: TYPE_FP32 dims: [ 3 ] }, { name: "a" data_type: TYPE_FP32 dims: [ 3 ] } ]
			  output [ { name: "difference" data_type: TYPE_FP32 dims: [ 3 ] } ]`,
			[]oip.Tensor{
				{Name: "a", Datatype: "FP32", Shape: []int64{1, 3}, Data: floats(5, 6, 7)},
				{Name: "b", Datatype: "FP32", Shape: []int64{1, 3}, Data: floats(1, 2, 3)},
			},
			[]oip.Tensor{{Name: "difference", Datatype: "FP32", Shape: []int64{1, 3}, Data: floats(4, 4, 4)}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, load(t, testModel(t, c.file, c.config)), c.in...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Contents lie in a message where its parser found them, so also at addresses
// that are no multiple of the element's size.
func TestUnalignedInput(t *testing.T) {
	session := load(t, testModel(t, "identity_fp64", `max_batch_size: 4
		input [ { name: "x" data_type: TYPE_FP64 dims: [ 3 ] } ]
		output [ { name: "y" data_type: TYPE_FP64 dims: [ 3 ] } ]`))
	whole := make([]byte, 25)
	for i := range whole {
		whole[i] = byte(i)
	}
	got := run(t, session, oip.Tensor{Name: "x", Datatype: "FP64", Shape: []int64{1, 3}, Data: whole[1:]})
	if !bytes.Equal(got[0].Data, whole[1:]) {
		t.Errorf("got % x", got[0].Data)
	}
}

// A run that nobody waits for is stopped between two operators.
func TestRunStopsWithItsContext(t *testing.T) {
	cfg := testModel(t, "slow", `
		input [ { name: "x" data_type: TYPE_INT64 dims: [ 1 ] } ]
		output [ { name: "y" data_type: TYPE_INT64 dims: [ 1 ] } ]`)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	// The probe of the load is a run like any other.
	_, err := library(t).Load(ctx, cfg, "testdata", settings())
	wantFailure(t, err, failure.Deadline, "deadline")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("stopped after %s", took)
	}
}

// What the runtime says of a failed run is for logs, not for callers.
func TestRunFails(t *testing.T) {
	session := load(t, testModel(t, "lookup", `max_batch_size: 4
		input [ { name: "index" data_type: TYPE_INT64 dims: [ 1 ] } ]
		output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] } ]`))
	index := func(n uint64) oip.Tensor {
		return oip.Tensor{Name: "index", Datatype: "INT64", Shape: []int64{1, 1}, Data: binary.LittleEndian.AppendUint64(nil, n)}
	}
	_, err := session.Run(t.Context(), []oip.Tensor{index(10)})
	wantFailure(t, err, failure.Internal, `model "lookup" failed`)
	if !strings.Contains(err.Error(), "out of data bounds") {
		t.Errorf("the log lacks the cause: %v", err)
	}
	if got := run(t, session, index(7)); !bytes.Equal(got[0].Data, floats(7)) {
		t.Errorf("after a failure: % x", got[0].Data)
	}
}

func TestStringsWithAZeroByteAreRefused(t *testing.T) {
	session := load(t, testModel(t, "identity_string", `max_batch_size: 4
		input [ { name: "x" data_type: TYPE_STRING dims: [ 3 ] } ]
		output [ { name: "y" data_type: TYPE_STRING dims: [ 3 ] } ]`))
	req := &inference.ModelInferRequest{}
	oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "BYTES", Shape: []int64{1, 3}, Data: oip.JoinStrings("a", "b\x00c", "d")})
	wantFailure(t, session.CheckRequest(req), failure.Invalid, `input "x": element 1 has a zero byte`)
}

// Both versions of the sample model, many runs at once on one session: each
// gets its own answer. One thread for each run computes every image the same
// way each time, so the answers are equal to the last bit.
func TestConcurrentRuns(t *testing.T) {
	cfg, directory := sampleModel(t)
	lib := library(t)
	for _, version := range []string{"1", "2"} {
		t.Run("version "+version, func(t *testing.T) {
			session, err := lib.Load(t.Context(), cfg, filepath.Join(directory, version), settings())
			if err != nil {
				t.Fatal(err)
			}
			closeLater(t, session)
			const callers = 8
			var want [callers][]byte
			for i := range callers {
				want[i] = run(t, session, image(uint32(i), 1))[0].Data
			}
			var group sync.WaitGroup
			for i := range callers {
				group.Go(func() {
					got, err := session.Run(t.Context(), []oip.Tensor{image(uint32(i), 1)})
					if err != nil {
						t.Error(err)
						return
					}
					if !bytes.Equal(got[0].Data, want[i]) {
						t.Errorf("caller %d got another answer than alone", i)
					}
				})
			}
			group.Wait()
		})
	}
}

// The work of a run is known where one thread does all of it.
func TestWorkOfARun(t *testing.T) {
	base, directory := sampleModel(t)
	for threads, known := range map[string]bool{"1": true, "2": false} {
		t.Run(threads, func(t *testing.T) {
			cfg := clone(base)
			cfg.Parameters = map[string]*inference.ModelParameter{"intra_op_thread_count": {StringValue: threads}}
			session, err := library(t).Load(t.Context(), cfg, filepath.Join(directory, "1"), settings())
			if err != nil {
				t.Fatal(err)
			}
			closeLater(t, session)
			begun := time.Now()
			_, work, err := session.RunTimed(t.Context(), []oip.Tensor{image(1, 8)})
			took := time.Since(begun)
			switch {
			case err != nil:
				t.Fatal(err)
			case known && (work < 10*time.Millisecond || work > took), !known && work != 0:
				t.Errorf("the work is %s of %s", work, took)
			}
		})
	}
}

func TestWarmUp(t *testing.T) {
	session := load(t, testModel(t, "identity_fp32", `max_batch_size: 4`+fp32))
	cases := map[string]struct{ warmup, want string }{
		"zero":          {`model_warmup [ { name: "z" batch_size: 2 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3 ] zero_data: true } } } ]`, ""},
		"random, twice": {`model_warmup [ { name: "r" batch_size: 1 count: 2 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3 ] random_data: true } } } ]`, ""},
		"switched off":  {`model_warmup [ { name: "off" inputs { key: "nothing" value { data_type: TYPE_FP32 dims: [ 3 ] zero_data: true } } } ]`, ""},
		"missing input": {`model_warmup [ { name: "m" batch_size: 1 } ]`, `model_warmup "m" lacks input "x"`},
		"wrong shape":   {`model_warmup [ { name: "s" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } } ]`, `input "x" is FP32 [1,4], the model takes FP32 [-1,3]`},
		"no file":       {`model_warmup [ { name: "f" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "x.bin" } } } ]`, `the file warmup/x.bin can't be read`},
		"escape":        {`model_warmup [ { name: "e" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "../x" } } } ]`, `leaves the folder warmup`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := session.WarmUp(t.Context(), config(t, c.warmup), t.TempDir())
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantFailure(t, err, failure.Invalid, c.want)
		})
	}
}

func TestCloseTwice(t *testing.T) {
	session := load(t, testModel(t, "identity_fp32", `max_batch_size: 4`+fp32))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestRunAfterItsCallerHasGone(t *testing.T) {
	session := load(t, testModel(t, "identity_fp32", `max_batch_size: 4`+fp32))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the browser was closed"))
	_, err := session.Run(ctx, []oip.Tensor{{Name: "x", Datatype: "FP32", Shape: []int64{1, 3}, Data: floats(1, 2, 3)}})
	wantFailure(t, err, failure.Cancelled, "the caller has gone")
}
