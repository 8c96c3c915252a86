package preprocess_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	stdimage "image"
	"math"
	"strings"
	"testing"

	"triptych/proto/inference"
	"triptych/services/preprocess"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
)

// golden is a row of testdata/presets/golden.json: what a library made of an image.
type golden struct {
	Preset        string
	File          string
	Width, Height int
	Shape         []int64
	At            []int
	Values        []float32
	SHA256        string
	SHA256FP16    string `json:"sha256_fp16"`
}

func goldens(tb testing.TB) []golden {
	tb.Helper()
	var rows []golden
	if err := json.Unmarshal(read(tb, "services", "preprocess", "testdata", "presets", "golden.json"), &rows); err != nil {
		tb.Fatal(err)
	}
	return rows
}

// ofPreset is a model that is configured by a preset alone. It takes files, or
// pixels.
func ofPreset(tb testing.TB, preset, input, datatype string, dims []int64) *inference.ModelConfig {
	tb.Helper()
	return parse(tb, fmt.Sprintf(`
		name: "preset" backend: "image"
		input [ { name: "IMAGE" %s } ]
		output [ { name: "image" data_type: %s dims: [ %d, %d, %d ] } ]
		parameters [ { key: "preset" value { string_value: "%s" } } ]`, input, datatype, dims[0], dims[1], dims[2], preset))
}

const (
	takesFiles  = `data_type: TYPE_STRING dims: [ 1 ]`
	takesPixels = `data_type: TYPE_UINT8 dims: [ -1, -1, 3 ]`
)

// synthetic is the image that testdata/make_presets.py makes, as RGB.
func synthetic(width, height int) []byte {
	pix := make([]byte, 0, 3*width*height)
	for y := range height {
		for x := range width {
			for c := range 3 {
				pix = append(pix, byte((x*x*31+y*y*17+x*y*7+c*85)%251))
			}
		}
	}
	return pix
}

// pixelRequest holds one image of RGB pixels, without a batch dimension.
func pixelRequest(pix []byte, size stdimage.Point) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{}
	oip.AddInput(req, oip.Tensor{Name: "IMAGE", Datatype: "UINT8", Shape: []int64{int64(size.Y), int64(size.X), 3}, Data: pix})
	return req
}

// ask gives a row's image to a model of that preset and wants a tensor.
func (g golden) ask(tb testing.TB, datatype string) []byte {
	tb.Helper()
	if g.File != "" {
		req := request(image(tb, g.File))
		req.Inputs[0].Shape = []int64{1}
		return infer(tb, load(tb, ofPreset(tb, g.Preset, takesFiles, datatype, g.Shape), telemetry.Discard()), req).Data
	}
	req := pixelRequest(synthetic(g.Width, g.Height), stdimage.Pt(g.Width, g.Height))
	return infer(tb, load(tb, ofPreset(tb, g.Preset, takesPixels, datatype, g.Shape), telemetry.Discard()), req).Data
}

func float(data []byte, index int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(data[4*index:]))
}

// Each preset makes the tensor that its library makes, to the bit (PRE-01 to
// PRE-05).
func TestPresetsEqualTheirLibraries(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Preset == "grey" {
			continue
		}
		t.Run(fmt.Sprintf("%s %s %dx%d", g.Preset, g.File, g.Width, g.Height), func(t *testing.T) {
			out := g.ask(t, "TYPE_FP32")
			for i, at := range g.At {
				if got := float(out, at); got != g.Values[i] {
					t.Errorf("number %d is %v, want %v", at, got, g.Values[i])
				}
			}
			if sum(out) != g.SHA256 {
				t.Error("the tensor differs")
			}
			if g.SHA256FP16 != "" && sum(g.ask(t, "TYPE_FP16")) != g.SHA256FP16 {
				t.Error("the tensor of FP16 differs")
			}
		})
	}
}

// GREY is Pillow's convert("L"), before the image is resized (PRE-07).
func TestGreyEqualsPillow(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Preset != "grey" || g.File != "" {
			continue
		}
		for _, layout := range []string{"NHWC", "NCHW"} {
			t.Run(fmt.Sprintf("%s %dx%d", layout, g.Width, g.Height), func(t *testing.T) {
				cfg := parse(t, `name: "grey" backend: "image"
					input [ { name: "IMAGE" `+takesPixels+` } ]
					output [ { name: "image" data_type: TYPE_FP32 dims: [ 40, 60, 1 ] } ]
					parameters [
						{ key: "resize" value { string_value: "exact" } }, { key: "crop" value { string_value: "none" } },
						{ key: "filter" value { string_value: "bicubic" } }, { key: "colors" value { string_value: "GREY" } },
						{ key: "scale" value { string_value: "1" } }, { key: "layout" value { string_value: "`+layout+`" } }
					]`)
				if layout == "NCHW" {
					cfg.Output[0].Dims = []int64{1, 40, 60}
				}
				pix := synthetic(g.Width, g.Height)
				out := infer(t, load(t, cfg, telemetry.Discard()), pixelRequest(pix, stdimage.Pt(g.Width, g.Height)))
				if sum(out.Data) != g.SHA256 {
					t.Error("the tensor differs")
				}
				if string(pix) != string(synthetic(g.Width, g.Height)) {
					t.Error("the request's own pixels have been changed")
				}
			})
		}
	}
}

func TestPresetsThatDoNotFit(t *testing.T) {
	for name, tc := range map[string]struct {
		preset, datatype string
		dims             []int64
		change           []func(*inference.ModelConfig)
		want             string
	}{
		"unknown":               {"imagenet", "TYPE_FP32", []int64{3, 224, 224}, nil, `parameter "preset": is "imagenet", must be one of keras_caffe, timm, torchvision_imagenet, yolo_letterbox`},
		"UINT8":                 {"timm", "TYPE_UINT8", []int64{3, 224, 224}, nil, `parameter "preset": is "timm", which makes FP32 or FP16, but output "image" is UINT8`},
		"UINT8, YOLO":           {"yolo_letterbox", "TYPE_UINT8", []int64{3, 320, 320}, nil, `parameter "preset": is "yolo_letterbox", which makes FP32 or FP16`},
		"layout":                {"keras_caffe", "TYPE_FP32", []int64{3, 224, 224}, nil, `parameter "layout": is NHWC`},
		"torchvision's other":   {"torchvision_imagenet", "TYPE_FP32", []int64{3, 299, 299}, nil, `parameter "size": is missing, resize "shortest" needs it`},
		"timm's oblong":         {"timm", "TYPE_FP32", []int64{3, 224, 256}, nil, `parameter "size": is missing`},
		"grey without its mean": {"timm", "TYPE_FP32", []int64{1, 224, 224}, []func(*inference.ModelConfig){set("colors", "GREY")}, `parameter "mean": has 3 numbers, must have 1`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := ofPreset(t, tc.preset, takesFiles, tc.datatype, tc.dims)
			for _, change := range tc.change {
				change(cfg)
			}
			_, err := backend(t, preprocess.DefaultConfig(), telemetry.Discard()).Load(context.Background(), modelserver.Spec{Config: cfg, Version: 1})
			if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), tc.want) {
				t.Errorf("got %v, want Invalid with %q", err, tc.want)
			}
		})
	}
}

// What is overridden takes with it what only made sense with the preset's own.
func TestPresetsOverridden(t *testing.T) {
	white := caseImage(t, "solid_white.jpg")
	for name, tc := range map[string]struct {
		preset string
		dims   []int64
		change []func(*inference.ModelConfig)
		want   []float32 // of white, by channel
	}{
		"layout":           {"torchvision_imagenet", []int64{224, 224, 3}, []func(*inference.ModelConfig){set("layout", "NHWC")}, []float32{2.2489083, 2.4285715, 2.64}},
		"colors":           {"torchvision_imagenet", []int64{3, 224, 224}, []func(*inference.ModelConfig){set("colors", "BGR")}, []float32{2.64, 2.4285715, 2.2489083}},
		"size":             {"torchvision_imagenet", []int64{3, 299, 299}, []func(*inference.ModelConfig){set("size", "342")}, []float32{2.2489083, 2.4285715, 2.64}},
		"timm's own size":  {"timm", []int64{3, 240, 240}, nil, []float32{2.2489083, 2.4285715, 2.64}},
		"mean and std":     {"timm", []int64{3, 224, 224}, []func(*inference.ModelConfig){set("mean", "0.5"), set("std", "0.5")}, []float32{1, 1, 1}},
		"resize":           {"torchvision_imagenet", []int64{3, 224, 224}, []func(*inference.ModelConfig){set("resize", "exact")}, nil},
		"resize and size":  {"yolo_letterbox", []int64{3, 320, 320}, []func(*inference.ModelConfig){set("resize", "shortest"), set("size", "320")}, []float32{1, 1, 1}},
		"Keras in RGB":     {"keras_caffe", []int64{224, 224, 3}, []func(*inference.ModelConfig){set("colors", "RGB")}, []float32{131.32, 138.221, 151.061}},
		"grey with a mean": {"timm", []int64{1, 224, 224}, []func(*inference.ModelConfig){set("colors", "GREY"), set("mean", "0.5"), set("std", "0.25")}, []float32{2}},
		"filter":           {"yolo_letterbox", []int64{3, 320, 320}, []func(*inference.ModelConfig){set("filter", "nearest")}, []float32{1, 1, 1}},
		"nothing but dims": {"yolo_letterbox", []int64{3, 384, 640}, nil, []float32{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := ofPreset(t, tc.preset, takesFiles, "TYPE_FP32", tc.dims)
			for _, change := range tc.change {
				change(cfg)
			}
			if tc.want == nil { // the rest of the preset does not say the size
				set("crop", "none")(cfg)
				tc.want = []float32{2.2489083, 2.4285715, 2.64}
			}
			req := request(white)
			req.Inputs[0].Shape = []int64{1}
			out := infer(t, load(t, cfg, telemetry.Discard()), req)
			n := len(out.Data) / 4 / len(tc.want)
			for c, want := range tc.want {
				middle := c*n + n/2 + int(tc.dims[2])/2
				if tc.dims[2] <= 3 {
					middle = len(tc.want)*(n/2+int(tc.dims[1])/2) + c
				}
				if got := float(out.Data, middle); math.Abs(float64(got-want)) > 1e-4 {
					t.Errorf("channel %d is %v, want %v", c, got, want)
				}
			}
		})
	}
}
