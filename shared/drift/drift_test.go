package drift_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"triptych/shared/drift"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

var nan, inf = float32(math.NaN()), float32(math.Inf(1))

func fp32(values ...float32) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

func int64s(values ...int64) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return data
}

func words(values ...uint16) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint16(data, v)
	}
	return data
}

func TestCompare(t *testing.T) {
	tests := map[string]struct {
		datatype    string
		shape       []int64
		batching    bool
		before, now []byte
		want        drift.Difference
		relative    float64
	}{
		"equal": {
			"FP32",
			[]int64{1, 3},
			true, fp32(1, 3, 2), fp32(1, 3, 2),
			drift.Difference{Elements: 3, Scale: 3, Rows: 1, Agreed: 1},
			0,
		},
		"drift": {
			"FP32",
			[]int64{1, 2},
			true, fp32(-4, 1), fp32(-4, 1.5),
			drift.Difference{Elements: 2, Scale: 4, Abs: 0.5, At: 1, Before: 1, Now: 1.5, Rows: 1, Agreed: 1},
			0.125,
		},
		"from nothing": {
			"FP32",
			[]int64{2},
			true, fp32(0, 0), fp32(0, 1),
			drift.Difference{Elements: 2, Abs: 1, At: 1, Now: 1},
			math.Inf(1),
		},
		"NaN and infinity": {
			"FP32",
			[]int64{4},
			false, fp32(1, 2, 4, 3), fp32(1, nan, 4, inf),
			drift.Difference{Elements: 4, NotFinite: 2, FirstNotFinite: 1, Scale: 4, Rows: 1, TopBefore: 2, TopNow: 3},
			0,
		},
		"was NaN before": {
			"FP32",
			[]int64{3},
			false, fp32(nan, 1, inf), fp32(5, 1, nan),
			drift.Difference{Elements: 3, Scale: 1, Rows: 1, TopBefore: 2},
			0,
		},
		"two rows, one other": {
			"FP32",
			[]int64{2, 2},
			true, fp32(1, 2, 2, 1), fp32(1, 2, 1, 2),
			drift.Difference{Elements: 4, Scale: 2, Abs: 1, At: 2, Before: 2, Now: 1, Rows: 2, Agreed: 1, Row: 1, TopNow: 1},
			0.5,
		},
		"shares the top": {
			"FP32",
			[]int64{1, 2},
			true, fp32(1, 2), fp32(2, 2),
			drift.Difference{Elements: 2, Scale: 2, Abs: 1, Before: 1, Now: 2, Rows: 1, Agreed: 1},
			0.5,
		},
		"without a batch the last dimension is the row": {
			"FP32",
			[]int64{2},
			false, fp32(1, 2), fp32(2, 1),
			drift.Difference{Elements: 2, Scale: 2, Abs: 1, Before: 1, Now: 2, Rows: 1, TopBefore: 1},
			0.5,
		},
		"with a batch it has no rows": {
			"FP32",
			[]int64{2},
			true, fp32(1, 2), fp32(2, 1),
			drift.Difference{Elements: 2, Scale: 2, Abs: 1, Before: 1, Now: 2},
			0.5,
		},
		"classes": {
			"INT64",
			[]int64{3, 1},
			true, int64s(7, 8, -9), int64s(7, 6, -9),
			drift.Difference{Elements: 3, Scale: 9, Abs: 2, At: 1, Before: 8, Now: 6, Rows: 3, Agreed: 2, Row: 1, TopBefore: 8, TopNow: 6},
			2. / 9,
		},
		"FP16": {
			"FP16",
			[]int64{4},
			true, words(0x3c00, 0xc000, 0x0001, 0x7bff), words(0x3c00, 0xc400, 0x0001, 0x7e00),
			drift.Difference{Elements: 4, NotFinite: 1, FirstNotFinite: 3, Scale: 65504, Abs: 2, At: 1, Before: -2, Now: -4},
			2. / 65504,
		},
		"BF16": {
			"BF16",
			[]int64{2},
			true, words(0x3f80, 0xc000), words(0x3f80, 0x7f80),
			drift.Difference{Elements: 2, NotFinite: 1, FirstNotFinite: 1, Scale: 2},
			0,
		},
		"FP64": {
			"FP64",
			[]int64{1},
			true, int64s(int64(math.Float64bits(2))), int64s(int64(math.Float64bits(3))),
			drift.Difference{Elements: 1, Scale: 2, Abs: 1, Before: 2, Now: 3},
			0.5,
		},
		"BOOL":       {"BOOL", []int64{2, 1}, true, []byte{0, 1}, []byte{0, 1}, drift.Difference{Elements: 2, Scale: 1, Rows: 2, Agreed: 2}, 0},
		"INT8":       {"INT8", []int64{1}, true, []byte{0xff}, []byte{1}, drift.Difference{Elements: 1, Scale: 1, Abs: 2, Before: -1, Now: 1, Rows: 1, TopBefore: -1, TopNow: 1}, 2},
		"UINT8":      {"UINT8", []int64{1}, true, []byte{0xff}, []byte{0xff}, drift.Difference{Elements: 1, Scale: 255, Rows: 1, Agreed: 1}, 0},
		"INT16":      {"INT16", []int64{1}, true, words(0xffff), words(0xffff), drift.Difference{Elements: 1, Scale: 1, Rows: 1, Agreed: 1}, 0},
		"UINT16":     {"UINT16", []int64{1}, true, words(0xffff), words(0xffff), drift.Difference{Elements: 1, Scale: 65535, Rows: 1, Agreed: 1}, 0},
		"INT32":      {"INT32", []int64{1}, true, words(0xffff, 0xffff), words(0xffff, 0xffff), drift.Difference{Elements: 1, Scale: 1, Rows: 1, Agreed: 1}, 0},
		"UINT32":     {"UINT32", []int64{1}, true, words(0xffff, 0), words(0xffff, 0), drift.Difference{Elements: 1, Scale: 65535, Rows: 1, Agreed: 1}, 0},
		"UINT64":     {"UINT64", []int64{1}, true, int64s(5), int64s(5), drift.Difference{Elements: 1, Scale: 5, Rows: 1, Agreed: 1}, 0},
		"BYTES":      {"BYTES", []int64{2, 1}, true, oip.JoinStrings("a", "b"), oip.JoinStrings("cc", "d"), drift.Difference{Elements: 2}, 0},
		"no numbers": {"FP32", []int64{2, 0}, true, nil, nil, drift.Difference{}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := drift.Compare(oip.Tensor{Datatype: test.datatype, Shape: test.shape, Data: test.before}, oip.Tensor{Datatype: test.datatype, Shape: test.shape, Data: test.now}, test.batching)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
				t.Error(diff)
			}
			if rel := got.Relative(); rel != test.relative && math.Abs(rel-test.relative) > 1e-9 {
				t.Errorf("relative %g, want %g", rel, test.relative)
			}
		})
	}
}

func TestCompareRefusesOtherSizes(t *testing.T) {
	before := oip.Tensor{Datatype: "FP32", Shape: []int64{2}, Data: fp32(1, 2)}
	for name, now := range map[string]oip.Tensor{
		"bytes":    {Datatype: "FP32", Shape: []int64{2}, Data: fp32(1)},
		"datatype": {Datatype: "INT32", Shape: []int64{2}, Data: fp32(1, 2)},
	} {
		if _, err := drift.Compare(before, now, false); failure.KindOf(err) != failure.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := drift.Compare(oip.Tensor{Datatype: "FP32", Shape: []int64{-1}}, before, false); failure.KindOf(err) != failure.Invalid {
		t.Errorf("negative: %v", err)
	}
}

func TestNaNs(t *testing.T) {
	tests := map[string]struct {
		tensor oip.Tensor
		want   int
	}{
		"FP32":  {oip.Tensor{Datatype: "FP32", Data: fp32(1, nan, inf, nan)}, 2},
		"FP16":  {oip.Tensor{Datatype: "FP16", Data: words(0x7e00, 0x7c00, 0xfe00)}, 2},
		"INT64": {oip.Tensor{Datatype: "INT64", Data: int64s(-1)}, 0},
		"BYTES": {oip.Tensor{Datatype: "BYTES", Data: oip.JoinStrings("NaN")}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := drift.NaNs(test.tensor); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}
