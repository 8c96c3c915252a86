package oip_test

import (
	"math"
	"slices"
	"testing"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// wantFailure compares an error's Kind and message; "" wants none.
func wantFailure(t *testing.T, err error, kind failure.Kind, message string) {
	t.Helper()
	switch {
	case err == nil && message == "":
	case err == nil:
		t.Errorf("no error, want %q", message)
	case failure.KindOf(err) != kind || failure.Message(err) != message:
		t.Errorf("got %s %q\nwant %s %q", failure.KindOf(err), failure.Message(err), kind, message)
	}
}

func TestSizes(t *testing.T) {
	tests := map[string]struct {
		datatype string
		shape    []int64
		elements int64
		bytes    int64
		message  string // of ByteSize
		counts   bool   // Elements alone succeeds
	}{
		"image":              {"UINT8", []int64{16, 224, 224, 3}, 2408448, 2408448, "", true},
		"scalar":             {"FP32", nil, 1, 4, "", true},
		"nothing":            {"FP64", []int64{0, 224}, 0, 0, "", true},
		"BYTES have no size": {"BYTES", []int64{5}, 5, 0, "", true},
		"largest":            {"UINT8", []int64{math.MaxInt64}, math.MaxInt64, math.MaxInt64, "", true},
		"zero hides no overflow behind it": {
			"UINT8", []int64{0, math.MaxInt64, math.MaxInt64}, 0, 0, "", true,
		},
		"negative":         {"FP32", []int64{-1, 3}, 0, 0, "shape [-1,3] has a negative dimension", false},
		"lowest":           {"FP32", []int64{math.MinInt64}, 0, 0, "shape [-9223372036854775808] has a negative dimension", false},
		"int64 overflow":   {"UINT8", []int64{4611686018427387904, 4}, 0, 0, "shape [4611686018427387904,4] has more elements than can be counted", false},
		"wraps to a small": {"UINT8", []int64{2147483647, 2147483647, 4}, 0, 0, "shape [2147483647,2147483647,4] has more elements than can be counted", false},
		"bytes overflow":   {"FP64", []int64{1 << 60, 2}, 1 << 61, 0, "shape [1152921504606846976,2] has more bytes than can be counted", true},
		"10,000 dims":      {"FP32", slices.Repeat([]int64{1}, 10000), 0, 0, "shape has 10000 dimensions, at most 32 are allowed", false},
		"32 dims":          {"FP32", slices.Repeat([]int64{1}, 32), 1, 4, "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			elements, err := oip.Elements(tt.shape)
			if elements != tt.elements || (err == nil) != tt.counts {
				t.Errorf("Elements is %d (%v), want %d", elements, err, tt.elements)
			}
			size, err := oip.ByteSize(tt.datatype, tt.shape)
			if size != tt.bytes {
				t.Errorf("ByteSize is %d, want %d", size, tt.bytes)
			}
			wantFailure(t, err, failure.Invalid, tt.message)
		})
	}
}

func TestShapes(t *testing.T) {
	for _, tt := range []struct {
		maxBatch    int32
		dims, given []int64
		wire        string
		fits        bool
	}{
		{16, []int64{224, 224, 3}, []int64{1, 224, 224, 3}, "[-1,224,224,3]", true},
		{16, []int64{224, 224, 3}, []int64{224, 224, 3}, "[-1,224,224,3]", false},
		{0, []int64{-1, 3}, []int64{9, 3}, "[-1,3]", true},
		{0, []int64{-1, 3}, []int64{9, 4}, "[-1,3]", false},
		{0, []int64{3}, nil, "[3]", false},
		{4, nil, []int64{2}, "[-1]", true},
		{4, nil, nil, "[-1]", false},
		{0, nil, nil, "[]", true},
	} {
		wire := oip.WireShape(tt.maxBatch, tt.dims)
		if got := oip.FormatShape(wire); got != tt.wire {
			t.Errorf("WireShape(%d, %v) is %s, want %s", tt.maxBatch, tt.dims, got, tt.wire)
		}
		if oip.Fits(tt.given, wire) != tt.fits {
			t.Errorf("Fits(%v, %v) is not %t", tt.given, wire, tt.fits)
		}
	}
	dims := make([]int64, 1, 8)
	if oip.WireShape(0, dims); len(dims) != 1 || &oip.WireShape(0, dims)[0] == &dims[0] {
		t.Error("WireShape gives out the configuration's own memory")
	}
}

func TestDatatypes(t *testing.T) {
	sizes := map[inference.DataType]struct {
		name string
		size int
	}{
		inference.DataType_TYPE_BOOL: {"BOOL", 1}, inference.DataType_TYPE_UINT8: {"UINT8", 1},
		inference.DataType_TYPE_UINT16: {"UINT16", 2}, inference.DataType_TYPE_UINT32: {"UINT32", 4},
		inference.DataType_TYPE_UINT64: {"UINT64", 8}, inference.DataType_TYPE_INT8: {"INT8", 1},
		inference.DataType_TYPE_INT16: {"INT16", 2}, inference.DataType_TYPE_INT32: {"INT32", 4},
		inference.DataType_TYPE_INT64: {"INT64", 8}, inference.DataType_TYPE_FP16: {"FP16", 2},
		inference.DataType_TYPE_FP32: {"FP32", 4}, inference.DataType_TYPE_FP64: {"FP64", 8},
		inference.DataType_TYPE_STRING: {"BYTES", 0}, inference.DataType_TYPE_BF16: {"BF16", 2},
		inference.DataType_TYPE_INVALID: {"", 0},
	}
	if len(sizes) != len(inference.DataType_name) {
		t.Errorf("%d datatypes here, %d in the protocol", len(sizes), len(inference.DataType_name))
	}
	for dt, want := range sizes {
		if got := oip.Datatype(dt); got != want.name || oip.DataType(got) != dt || oip.Size(got) != want.size {
			t.Errorf("%s is %q of %d bytes, want %q of %d", dt, got, oip.Size(got), want.name, want.size)
		}
	}
	for _, unknown := range []string{"float32", "fp32", "STRING", "TYPE_FP32"} {
		if oip.DataType(unknown) != inference.DataType_TYPE_INVALID || oip.Size(unknown) != 0 {
			t.Errorf("%q passes as a datatype", unknown)
		}
	}
}
