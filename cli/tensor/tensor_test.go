package tensor_test

import (
	"bytes"
	"encoding/binary"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/cli/tensor"
	"triptych/shared/oip"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// floats is a tensor of FP32.
func floats(shape []int64, values ...float32) oip.Tensor {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return oip.Tensor{Name: "image", Datatype: "FP32", Shape: shape, Data: data}
}

func TestNPY(t *testing.T) {
	for name, tt := range map[string]struct {
		tensor oip.Tensor
		want   string
	}{
		"bytes":      {oip.Tensor{Datatype: "UINT8", Shape: []int64{1, 2, 3}, Data: []byte("abcdef")}, "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 3,), }"},
		"halves":     {oip.Tensor{Datatype: "FP16", Shape: []int64{2}, Data: []byte("abcd")}, "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }"},
		"floats":     {floats([]int64{1, 1}, 1), "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1,), }"},
		"one number": {floats(nil, 1), "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := tensor.WriteNPY(&out, tt.tensor); err != nil {
				t.Fatal(err)
			}
			file := out.Bytes()
			head := file[:len(file)-len(tt.tensor.Data)]
			if len(head)%64 != 0 || head[len(head)-1] != '\n' || string(head[:8]) != "\x93NUMPY\x01\x00" || int(binary.LittleEndian.Uint16(head[8:])) != len(head)-10 {
				t.Errorf("the head is %q", head)
			}
			if got := strings.TrimRight(string(head[10:]), " \n"); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if !bytes.HasSuffix(file, tt.tensor.Data) {
				t.Error("the data have changed")
			}
		})
	}
}

func TestTensorsThatAreNone(t *testing.T) {
	for name, broken := range map[string]oip.Tensor{
		"type":   {Datatype: "BYTES", Shape: []int64{1}, Data: []byte("abc")},
		"length": {Datatype: "UINT8", Shape: []int64{2}, Data: []byte("abc")},
		"shape":  {Datatype: "UINT8", Shape: []int64{-1}, Data: []byte("abc")},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tensor.Values(broken); err == nil {
				t.Error("it has values")
			}
			if err := tensor.WriteNPY(&bytes.Buffer{}, broken); err == nil {
				t.Error("it is written")
			}
		})
	}
}

func TestPicture(t *testing.T) {
	bgr := map[string]string{"layout": "NHWC", "colors": "BGR", "scale": "1", "mean": "1,2,3", "std": "1,1,2"}
	for name, tt := range map[string]struct {
		tensor oip.Tensor
		said   map[string]string
		want   []color.NRGBA
		known  bool
		names  string
	}{
		"bytes":           {oip.Tensor{Datatype: "UINT8", Shape: []int64{1, 2, 3}, Data: []byte{1, 2, 3, 4, 5, 6}}, nil, []color.NRGBA{{1, 2, 3, 255}, {4, 5, 6, 255}}, true, "RGB"},
		"in a batch":      {oip.Tensor{Datatype: "UINT8", Shape: []int64{1, 1, 1, 3}, Data: []byte{1, 2, 3}}, nil, []color.NRGBA{{1, 2, 3, 255}}, true, "RGB"},
		"planes":          {oip.Tensor{Datatype: "UINT8", Shape: []int64{3, 1, 2}, Data: []byte{1, 4, 2, 5, 3, 6}}, nil, []color.NRGBA{{1, 2, 3, 255}, {4, 5, 6, 255}}, true, "RGB"},
		"grey":            {oip.Tensor{Datatype: "UINT8", Shape: []int64{1, 2, 1}, Data: []byte{7, 9}}, map[string]string{"layout": "NHWC", "colors": "GREY"}, []color.NRGBA{{7, 7, 7, 255}, {9, 9, 9, 255}}, true, "Y"},
		"BGR, normalised": {floats([]int64{1, 1, 3}, 9, 18, 13.5), bgr, []color.NRGBA{{30, 20, 10, 255}}, true, "BGR"},
		"beyond":          {floats([]int64{1, 1, 3}, -9, 1000, float32(math.NaN())), bgr, []color.NRGBA{{0, 255, 0, 255}}, true, "BGR"},
		"unknown":         {floats([]int64{1, 2, 1}, -1, 3), map[string]string{"layout": "NHWC"}, []color.NRGBA{{0, 0, 0, 255}, {255, 255, 255, 255}}, false, "Y"},
		"all the same":    {floats([]int64{1, 1, 1}, 4), nil, []color.NRGBA{{0, 0, 0, 255}}, false, "Y"},
		"a bad mean":      {floats([]int64{1, 1, 3}, 0, 1, 2), map[string]string{"layout": "NHWC", "scale": "1", "mean": "x,1,1", "std": "1,1,1"}, []color.NRGBA{{0, 128, 255, 255}}, false, "RGB"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := tensor.See(tt.tensor, tt.said)
			if err != nil {
				t.Fatal(err)
			}
			values, err := tensor.Values(tt.tensor)
			if err != nil {
				t.Fatal(err)
			}
			img := v.Picture(values)
			for x, want := range tt.want {
				if got := color.NRGBAModel.Convert(img.At(x, 0)); got != want {
					t.Errorf("pixel %d is %v, want %v", x, got, want)
				}
			}
			if v.Known() != tt.known || strings.Join(v.Channels, "") != tt.names || img.Bounds().Dx() != len(tt.want) {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestShapesThatAreNoPicture(t *testing.T) {
	for name, tt := range map[string]struct {
		shape []int64
		said  map[string]string
	}{
		"one dimension": {[]int64{3}, nil},
		"two images":    {[]int64{2, 1, 1, 3}, nil},
		"four channels": {[]int64{1, 1, 4}, map[string]string{"layout": "NHWC"}},
		"grey of three": {[]int64{1, 1, 3}, map[string]string{"layout": "NHWC", "colors": "GREY"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tensor.See(oip.Tensor{Name: "image", Datatype: "UINT8", Shape: tt.shape}, tt.said); err == nil {
				t.Error("it is seen")
			}
		})
	}
}

func TestSummary(t *testing.T) {
	image := floats([]int64{3, 1, 2}, 1, 3, -2, 2, 0, 0.5)
	v, err := tensor.See(image, map[string]string{"layout": "NCHW"})
	if err != nil {
		t.Fatal(err)
	}
	values, err := tensor.Values(image)
	if err != nil {
		t.Fatal(err)
	}
	want := []tensor.Channel{{"R", 1, 3, 2}, {"G", -2, 2, 0}, {"B", 0, 0.5, 0.25}}
	if diff := cmp.Diff(want, v.Summary(values)); diff != "" {
		t.Error(diff)
	}
}

func TestFormat(t *testing.T) {
	for data, want := range map[string]string{"\xff\xd8\xff\xe0": "jpeg", "\x89PNG\r\n\x1a\n": "png", "GIF89a": "gif", "II*\x00": "tiff", "RIFF\x00\x00\x00\x00WEBPVP8 ": "webp"} {
		if got := tensor.Format([]byte(data)); got != want {
			t.Errorf("%q is %q, want %q", data, got, want)
		}
	}
}
