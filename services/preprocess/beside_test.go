package preprocess_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	stdimage "image"
	"image/png"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
)

// detector is a model that tells where an image is in its tensor.
func detector(tb testing.TB, resize string) *inference.ModelConfig {
	tb.Helper()
	return parse(tb, `
		name: "detector" backend: "image" max_batch_size: 4
		input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]
		output [
			{ name: "scale" data_type: TYPE_FP32 dims: [ 2 ] },
			{ name: "image" data_type: TYPE_UINT8 dims: [ 96, 128, 3 ] },
			{ name: "size" data_type: TYPE_INT32 dims: [ 2 ] },
			{ name: "padding" data_type: TYPE_INT32 dims: [ 4 ] }
		]
		parameters [
			{ key: "size_output" value { string_value: "size" } },
			{ key: "scale_output" value { string_value: "scale" } },
			{ key: "padding_output" value { string_value: "padding" } },
			{ key: "filter" value { string_value: "box" } },
			`+resize+`
		]`)
}

const (
	letterbox = `{ key: "resize" value { string_value: "longest" } }, { key: "pad_value" value { string_value: "114" } }`
	cornered  = letterbox + `, { key: "pad" value { string_value: "corner" } }`
	cropped   = `{ key: "size" value { string_value: "110" } }`
)

// marked is a black picture with a white box.
func marked(tb testing.TB, width, height int, box stdimage.Rectangle) []byte {
	tb.Helper()
	img := stdimage.NewGray(stdimage.Rect(0, 0, width, height))
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			img.Pix[img.PixOffset(x, y)] = 255
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// output wants an output and gives its numbers.
func output(tb testing.TB, resp *inference.ModelInferResponse, name string) (numbers []float64, shape []int64) {
	tb.Helper()
	out, ok := oip.Output(resp, name)
	if !ok {
		tb.Fatalf("no output %q", name)
	}
	for at := 0; at < len(out.Data); at += 4 {
		bits := binary.LittleEndian.Uint32(out.Data[at:])
		if out.Datatype == "FP32" {
			numbers = append(numbers, float64(math.Float32frombits(bits)))
		} else {
			numbers = append(numbers, float64(int32(bits)))
		}
	}
	return numbers, out.Shape
}

// seen is the box of what is white in a tensor of 128x96 pixels.
func seen(rgb []byte) stdimage.Rectangle {
	var box stdimage.Rectangle
	for i := 0; i < len(rgb); i += 3 {
		if rgb[i] > 180 {
			at := stdimage.Pt(i/3%128, i/3/128)
			box = box.Union(stdimage.Rectangle{Min: at, Max: at.Add(stdimage.Pt(1, 1))})
		}
	}
	return box
}

// What a detector finds in its tensor is mapped back to where it is in the image.
func TestBoxesMapBack(t *testing.T) {
	for name, tc := range map[string]struct {
		parameters    string
		width, height int
		padding       []float64
	}{
		"letterbox, wide":         {letterbox, 640, 320, []float64{0, 16, 0, 16}},
		"letterbox, tall":         {letterbox, 300, 601, []float64{40, 0, 40, 0}},
		"letterbox, small":        {letterbox, 60, 50, []float64{6, 0, 7, 0}},
		"letterbox in the corner": {cornered, 300, 601, []float64{0, 0, 80, 0}},
		"crop of what is wide":    {cropped, 400, 300, []float64{-9, -7, -9, -7}},
		"crop of what is tall":    {cropped, 300, 400, []float64{9, -25, 9, -25}},
	} {
		t.Run(name, func(t *testing.T) {
			box := stdimage.Rect(tc.width/3, tc.height/3, tc.width*3/5, tc.height*3/5)
			resp, err := load(t, detector(t, tc.parameters), telemetry.Discard()).Infer(context.Background(), request(marked(t, tc.width, tc.height, box)))
			if err != nil {
				t.Fatal(err)
			}
			size, _ := output(t, resp, "size")
			scale, _ := output(t, resp, "scale")
			padding, _ := output(t, resp, "padding")
			if diff := cmp.Diff([]float64{float64(tc.height), float64(tc.width)}, size); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.padding, padding); diff != "" {
				t.Error(diff)
			}
			tensor, _ := oip.Output(resp, "image")
			found := seen(tensor.Data)
			for i, pair := range [][2]float64{
				{(float64(found.Min.X) - padding[0]) / scale[1], float64(box.Min.X)},
				{(float64(found.Min.Y) - padding[1]) / scale[0], float64(box.Min.Y)},
				{(float64(found.Max.X) - padding[0]) / scale[1], float64(box.Max.X)},
				{(float64(found.Max.Y) - padding[1]) / scale[0], float64(box.Max.Y)},
			} {
				if math.Abs(pair[0]-pair[1]) > 1/min(scale[0], scale[1], 1) {
					t.Errorf("edge %d is mapped to %v, want %v", i, pair[0], pair[1])
				}
			}
		})
	}
}

// The size is that of the image as a viewer shows it.
func TestSizeIsThatOfTheUprightImage(t *testing.T) {
	resp, err := load(t, detector(t, letterbox), telemetry.Discard()).Infer(context.Background(), request(image(t, "cat.jpg"), image(t, "cat_rotated_by_exif.jpg")))
	if err != nil {
		t.Fatal(err)
	}
	size, shape := output(t, resp, "size")
	if diff := cmp.Diff([]float64{300, 451, 300, 451}, size); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{2, 2}, shape); diff != "" {
		t.Error(diff)
	}
	if _, shape := output(t, resp, "padding"); !cmp.Equal([]int64{2, 4}, shape) {
		t.Errorf("the padding has shape %v", shape)
	}
}

func TestOnlyOutputsThatAreAskedFor(t *testing.T) {
	m := load(t, detector(t, letterbox), telemetry.Discard())
	for _, asked := range [][]string{{"image"}, {"padding", "image"}, {"size"}} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			req := request(image(t, "cat.jpg"))
			for _, name := range asked {
				req.Outputs = append(req.Outputs, &inference.ModelInferRequest_InferRequestedOutputTensor{Name: name})
			}
			resp, err := m.Infer(context.Background(), req)
			if err == nil {
				err = oip.Arrange(req, resp) // as the model server does
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, out := range resp.GetOutputs() {
				got = append(got, out.GetName())
			}
			if diff := cmp.Diff(asked, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWithoutBatchDimensionBeside(t *testing.T) {
	cfg := detector(t, letterbox)
	cfg.MaxBatchSize = 0
	req := request(image(t, "cat.jpg"))
	req.Inputs[0].Shape = []int64{1}
	resp, err := load(t, cfg, telemetry.Discard()).Infer(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if _, shape := output(t, resp, "padding"); !cmp.Equal([]int64{4}, shape) {
		t.Errorf("the padding has shape %v", shape)
	}
}
