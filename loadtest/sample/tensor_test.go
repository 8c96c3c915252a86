package sample_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/sample"
	"triptych/shared/oip"
)

func TestParseTensor(t *testing.T) {
	tests := []struct {
		name, text string
		batch      int
		want       oip.Tensor
		wrong      string
	}{
		{"with a batch", "image:UINT8:224,224,3", 1, oip.Tensor{Name: "image", Datatype: "UINT8", Shape: []int64{1, 224, 224, 3}}, ""},
		{"a model without batches", "x:FP32:4", 0, oip.Tensor{Name: "x", Datatype: "FP32", Shape: []int64{4}}, ""},
		{"two parts", "x:4", 1, oip.Tensor{}, "three parts"},
		{"no name", ":FP32:4", 1, oip.Tensor{}, "three parts"},
		{"no datatype of ours", "x:FP8:4", 1, oip.Tensor{}, "the datatype must be"},
		{"BYTES", "x:BYTES:4", 1, oip.Tensor{}, "the datatype must be"},
		{"no dimension", "x:FP32:", 1, oip.Tensor{}, "above 0"},
		{"a dimension of 0", "x:FP32:0", 1, oip.Tensor{}, "above 0"},
		{"too large", "x:FP32:99999999999,99999999999", 1, oip.Tensor{}, "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := sample.ParseTensor(tt.text, tt.batch)
			if (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("error = %v, want %q", err, tt.wrong)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTensors(t *testing.T) {
	for _, datatype := range []string{"BOOL", "UINT8", "INT64", "FP32", "FP64"} {
		t.Run(datatype, func(t *testing.T) {
			spec := oip.Tensor{Name: "x", Datatype: datatype, Shape: []int64{2, 100}}
			first, err := sample.Tensors(spec, 2, 1)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := sample.Tensors(spec, 2, 1)
			other, _ := sample.Tensors(spec, 2, 2)
			if len(first[0].Data) != 200*oip.Size(datatype) || !cmp.Equal(first, again) {
				t.Errorf("%d bytes, or not the same again", len(first[0].Data))
			}
			if bytes.Equal(first[0].Data, first[1].Data) || bytes.Equal(first[0].Data, other[0].Data) {
				t.Error("two tensors are the same")
			}
			for i, v := range values(first[0]) {
				if !(v >= 0 && v <= 1) {
					t.Errorf("element %d is %v", i, v)
				}
			}
		})
	}
	if _, err := sample.Tensors(oip.Tensor{Datatype: "UINT8", Shape: []int64{1 << 20}}, 1<<20, 1); err == nil {
		t.Error("a terabyte is no error")
	}
}

// values are those of the types that are made to be from 0 to 1.
func values(t oip.Tensor) []float64 {
	var all []float64
	for i := 0; i < len(t.Data); i += oip.Size(t.Datatype) {
		switch t.Datatype {
		case "BOOL":
			all = append(all, float64(t.Data[i]))
		case "FP32":
			all = append(all, float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[i:]))))
		case "FP64":
			all = append(all, math.Float64frombits(binary.LittleEndian.Uint64(t.Data[i:])))
		}
	}
	return all
}
