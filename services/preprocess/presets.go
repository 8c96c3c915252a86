package preprocess

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"triptych/proto/inference"
	"triptych/services/preprocess/transform"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// preset is what a library does by default, as parameters. Each can be overridden.
type preset struct {
	parameters map[string]string
	// shorter is the shorter side after resizing, for an output of this size: 0
	// where the library has no rule.
	shorter func(width, height int64) int64
}

const imagenetMean, imagenetStd = "0.485,0.456,0.406", "0.229,0.224,0.225"

// presets are tied to the libraries by golden tensors
// (testdata/make_presets.py).
var presets = map[string]preset{
	// torchvision.transforms._presets.ImageClassification(crop_size=224)
	"torchvision_imagenet": {
		parameters: map[string]string{
			"resize": "shortest", "filter": "bilinear", "crop": "center", "layout": "NCHW", "colors": "RGB",
			"mean": imagenetMean, "std": imagenetStd,
		},
		shorter: func(width, height int64) int64 {
			if width == 224 && height == 224 {
				return 256
			}
			return 0
		},
	},
	// timm.data.create_transform(input_size), whose crop_pct is 0.875
	"timm": {
		parameters: map[string]string{
			"resize": "shortest", "filter": "bicubic", "crop": "center", "layout": "NCHW", "colors": "RGB",
			"mean": imagenetMean, "std": imagenetStd,
		},
		shorter: func(width, height int64) int64 {
			if width == height {
				return width * 8 / 7
			}
			return 0
		},
	},
	// keras.utils.load_img(target_size) and
	// keras.applications.imagenet_utils.preprocess_input(mode="caffe")
	"keras_caffe": {
		parameters: map[string]string{
			"resize": "exact", "filter": "nearest", "crop": "none", "layout": "NHWC", "colors": "BGR",
			"scale": "1", "mean": "103.939,116.779,123.68", "std": "1",
		},
	},
	// ultralytics.data.augment.LetterBox, RGB, and a division by 255
	"yolo_letterbox": {
		parameters: map[string]string{
			"resize": "longest", "filter": "opencv_linear", "pad": "center", "pad_value": "114",
			"layout": "NCHW", "colors": "RGB",
		},
	},
}

// ofResize are the parameters of a preset that make no sense any more when its
// `resize` is overridden.
var ofResize = []string{"size", "crop", "pad", "pad_value"}

// withPreset is a configuration with the parameters of its preset filled in.
func withPreset(cfg *inference.ModelConfig) *inference.ModelConfig {
	p, ok := presets[strings.TrimSpace(cfg.GetParameters()["preset"].GetStringValue())]
	if !ok {
		return cfg
	}
	filled := maps.Clone(p.parameters)
	own := func(key string) string { return strings.TrimSpace(cfg.GetParameters()[key].GetStringValue()) }
	if size := p.size(own("layout"), cfg); size > 0 {
		filled["size"] = strconv.FormatInt(size, 10)
	}
	if colors := own("colors"); colors != "" && colors != filled["colors"] {
		turnAround(filled)
	}
	if resize := own("resize"); resize != "" && resize != filled["resize"] {
		maps.DeleteFunc(filled, func(key, _ string) bool { return slices.Contains(ofResize, key) })
	}
	merged := map[string]*inference.ModelParameter{}
	for key, value := range filled {
		merged[key] = &inference.ModelParameter{StringValue: value}
	}
	maps.Copy(merged, cfg.GetParameters())
	return &inference.ModelConfig{Name: cfg.GetName(), Parameters: merged}
}

// size is that of the shorter side for the first output of three dims.
func (p preset) size(layout string, cfg *inference.ModelConfig) int64 {
	if p.shorter == nil {
		return 0
	}
	if layout == "" {
		layout = p.parameters["layout"]
	}
	for _, out := range cfg.GetOutput() {
		if dims := out.GetDims(); len(dims) == 3 {
			width, height, _ := sides(transform.Layout(layout), dims)
			return p.shorter(width, height)
		}
	}
	return 0
}

// turnAround puts what there is per channel into the other order. GREY has one
// channel and is refused with three numbers, which is right: its mean has to be
// said.
func turnAround(parameters map[string]string) {
	for _, key := range []string{"mean", "std"} {
		words := strings.Split(parameters[key], ",")
		slices.Reverse(words)
		if _, ok := parameters[key]; ok {
			parameters[key] = strings.Join(words, ",")
		}
	}
}

// checkPreset refuses an unknown preset, and an output that can't hold what it
// makes.
func checkPreset(params *modelconfig.Parameters, out *inference.ModelOutput) {
	if !given(params, "preset") {
		return
	}
	name := params.Word("preset", slices.Sorted(maps.Keys(presets))...)
	if !isFloat(out) {
		params.Fail("preset", "is %q, which makes FP32 or FP16, but output %q is %s", name, out.GetName(), oip.Datatype(out.GetDataType()))
	}
}
