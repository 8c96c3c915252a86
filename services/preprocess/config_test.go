package preprocess_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"triptych/proto/inference"
	"triptych/services/preprocess"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

func TestFlags(t *testing.T) {
	config := preprocess.DefaultConfig()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.RegisterFlags(fs)
	err := fs.Parse([]string{
		"--image-workers=3", "--image-queue=4", "--image-max-bytes=5", "--image-max-pixels=6", "--image-max-side=7",
		"--image-budget-bytes=8", "--image-queue-bytes=9",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := preprocess.Config{Workers: 3, Queue: 4, MaxBytes: 5, MaxPixels: 6, MaxSide: 7, Budget: 8, QueueBytes: 9}
	if diff := cmp.Diff(want, config); diff != "" {
		t.Error(diff)
	}
}

func TestConfigNamesTheFlag(t *testing.T) {
	defaults := preprocess.DefaultConfig()
	if err := defaults.Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
	for flag, change := range map[string]func(*preprocess.Config){
		"--image-workers":      func(c *preprocess.Config) { c.Workers = 0 },
		"--image-queue":        func(c *preprocess.Config) { c.Queue = -1 },
		"--image-budget-bytes": func(c *preprocess.Config) { c.Budget = 1000 },
		"--image-queue-bytes":  func(c *preprocess.Config) { c.QueueBytes = -1 },
		"--image-max-bytes":    func(c *preprocess.Config) { c.MaxBytes = 0 },
		"--image-max-pixels":   func(c *preprocess.Config) { c.MaxPixels = 1 << 40 },
		"--image-max-side":     func(c *preprocess.Config) { c.MaxSide = 0 },
	} {
		t.Run(flag, func(t *testing.T) {
			config := preprocess.DefaultConfig()
			change(&config)
			if err := config.Validate(); failure.KindOf(err) != failure.Invalid || !strings.HasPrefix(err.Error(), flag+" is ") {
				t.Errorf("got %v, want Invalid that names %s", err, flag)
			}
			if _, err := preprocess.NewBackend(config, telemetry.Discard()); err == nil {
				t.Error("the backend takes it")
			}
		})
	}
}

func TestRegistryTakesOneBackend(t *testing.T) {
	tel := telemetry.Discard()
	backend(t, preprocess.DefaultConfig(), tel)
	if _, err := preprocess.NewBackend(preprocess.DefaultConfig(), tel); err == nil {
		t.Error("a second backend registered the same metrics")
	}
}

func set(key, value string) func(*inference.ModelConfig) {
	return func(cfg *inference.ModelConfig) {
		cfg.Parameters[key] = &inference.ModelParameter{StringValue: value}
	}
}

func unset(key string) func(*inference.ModelConfig) {
	return func(cfg *inference.ModelConfig) { delete(cfg.Parameters, key) }
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		base   func(testing.TB) *inference.ModelConfig
		change []func(*inference.ModelConfig)
		want   string
	}{
		"resize":            {sample, []func(*inference.ModelConfig){set("resize", "widest")}, `parameter "resize": is "widest", must be one of shortest, longest, exact, none`},
		"filter":            {sample, []func(*inference.ModelConfig){set("filter", "cubic")}, `parameter "filter": is "cubic"`},
		"crop":              {sample, []func(*inference.ModelConfig){set("crop", "centre")}, `parameter "crop": is "centre"`},
		"layout":            {sample, []func(*inference.ModelConfig){set("layout", "HWC")}, `parameter "layout": is "HWC"`},
		"orientation":       {sample, []func(*inference.ModelConfig){set("orientation", "up")}, `parameter "orientation": is "up"`},
		"misspelt key":      {sample, []func(*inference.ModelConfig){set("filtre", "box")}, `unknown parameter "filtre", did you mean "filter"?`},
		"size missing":      {sample, []func(*inference.ModelConfig){unset("size")}, `parameter "size": is missing, resize "shortest" needs it`},
		"size words":        {sample, []func(*inference.ModelConfig){set("size", "big")}, `parameter "size": is "big"`},
		"size zero":         {sample, []func(*inference.ModelConfig){set("size", "0")}, `parameter "size": is "0"`},
		"size two":          {sample, []func(*inference.ModelConfig){set("size", "256,256")}, `parameter "size": is "256,256"`},
		"size with none":    {sample, []func(*inference.ModelConfig){set("resize", "none")}, `parameter "size": is "256", but resize is "none"`},
		"exact unlike dims": {sample, []func(*inference.ModelConfig){set("resize", "exact"), set("crop", "none"), set("size", "300,200")}, `parameter "size": makes images of 300x200 (width x height), but output "image" has dims [224,224,3]`},
		"layout unlike dims": {
			sample,
			[]func(*inference.ModelConfig){set("layout", "NCHW")},
			`parameter "layout": is NCHW, whose dims in RGB are [3,height,width] with sides up to 16384, but output "image" has dims [224,224,3], which are those of NHWC`,
		},
		"mean with UINT8":           {sample, []func(*inference.ModelConfig){set("mean", "0,0,0")}, `parameter "mean": needs an FP32 or FP16 output, but output "image" is UINT8`},
		"scale with UINT8":          {sample, []func(*inference.ModelConfig){set("scale", "1")}, `parameter "scale": needs an FP32 or FP16 output`},
		"mean alone":                {float32s, []func(*inference.ModelConfig){unset("std")}, `parameter "std": is missing, mean is given`},
		"std alone":                 {float32s, []func(*inference.ModelConfig){unset("mean")}, `parameter "mean": is missing, std is given`},
		"mean of two":               {float32s, []func(*inference.ModelConfig){set("mean", "1,2")}, `parameter "mean": has 2 numbers, must have 3`},
		"std zero":                  {float32s, []func(*inference.ModelConfig){set("std", "1,0,1")}, `parameter "std": has a zero`},
		"scale":                     {float32s, []func(*inference.ModelConfig){set("scale", "NaN")}, `parameter "scale": has "NaN"`},
		"more bytes":                {sample, []func(*inference.ModelConfig){set("max_bytes", "99999999999")}, `parameter "max_bytes": is 99999999999, but the service takes 33554432 at most (--image-max-bytes)`},
		"no pixels":                 {sample, []func(*inference.ModelConfig){set("max_pixels", "0")}, `parameter "max_pixels": is "0"`},
		"side":                      {sample, []func(*inference.ModelConfig){set("max_side", "x")}, `parameter "max_side": is "x"`},
		"upscale without longest":   {sample, []func(*inference.ModelConfig){set("upscale", "false")}, `parameter "upscale": is given, but resize is "shortest", not "longest"`},
		"pad without longest":       {sample, []func(*inference.ModelConfig){set("pad", "corner")}, `parameter "pad": is given, but resize is "shortest"`},
		"pad":                       {sample, []func(*inference.ModelConfig){set("resize", "longest"), set("crop", "none"), unset("size"), set("pad", "left")}, `parameter "pad": is "left"`},
		"upscale":                   {sample, []func(*inference.ModelConfig){set("resize", "longest"), set("crop", "none"), unset("size"), set("upscale", "no")}, `parameter "upscale": is "no"`},
		"pad_value without padding": {sample, []func(*inference.ModelConfig){set("pad_value", "0")}, `parameter "pad_value": is given, but no image is ever padded`},
		"pad_value for no crop":     {sample, []func(*inference.ModelConfig){set("crop", "none"), set("pad_value", "0")}, `parameter "pad_value": is given, but no image is ever padded`},
		"pad_value too large":       {sample, []func(*inference.ModelConfig){set("size", "100"), set("pad_value", "0,0,256")}, `parameter "pad_value": has 256, must be whole numbers from 0 to 255`},
		"pad_value of two":          {sample, []func(*inference.ModelConfig){set("size", "100"), set("pad_value", "0,0")}, `parameter "pad_value": has 2 numbers, must have 3`},
		"pad_value broken":          {sample, []func(*inference.ModelConfig){set("size", "100"), set("pad_value", "0.5")}, `parameter "pad_value": has 0.5`},
		"longest cropped":           {sample, []func(*inference.ModelConfig){set("resize", "longest"), unset("size")}, `parameter "crop": is "center", but resize "longest" leaves nothing to crop`},
		"longest unlike dims": {
			sample,
			[]func(*inference.ModelConfig){set("resize", "longest"), set("crop", "none")},
			`parameter "size": makes images of 256x256 (width x height), but output "image" has dims [224,224,3]`,
		},
		"antialias":              {sample, []func(*inference.ModelConfig){set("antialias", "on")}, `parameter "antialias": is "on", must be true or false`},
		"antialias of nearest":   {sample, []func(*inference.ModelConfig){set("filter", "nearest"), set("antialias", "true")}, `parameter "antialias": is true, but filter "nearest" has none`},
		"antialias of OpenCV":    {sample, []func(*inference.ModelConfig){set("filter", "opencv_linear"), set("antialias", "true")}, `parameter "antialias": is true, but filter "opencv_linear" has none`},
		"colors":                 {sample, []func(*inference.ModelConfig){set("colors", "GRAY")}, `parameter "colors": is "GRAY", must be one of RGB, BGR, GREY`},
		"grey unlike dims":       {sample, []func(*inference.ModelConfig){set("colors", "GREY")}, `parameter "layout": is NHWC, whose dims in GREY are [height,width,1]`},
		"background word":        {sample, []func(*inference.ModelConfig){set("background", "white")}, `parameter "background": is "white", must be "r,g,b" or "#rrggbb"`},
		"background short":       {sample, []func(*inference.ModelConfig){set("background", "#fff")}, `parameter "background": is "#fff", must be "r,g,b" or "#rrggbb"`},
		"background long":        {sample, []func(*inference.ModelConfig){set("background", "#ffffffff")}, `parameter "background": is "#ffffffff"`},
		"background no digits":   {sample, []func(*inference.ModelConfig){set("background", "#gggggg")}, `parameter "background": is "#gggggg"`},
		"background above 255":   {sample, []func(*inference.ModelConfig){set("background", "1,2,300")}, `parameter "background": has 300`},
		"decode":                 {sample, []func(*inference.ModelConfig){set("decode", "fast")}, `parameter "decode": is "fast", must be one of exact, scaled`},
		"width":                  {sample, []func(*inference.ModelConfig){set("max_width", "40000")}, `parameter "max_width": is "40000", must be a whole number from 1 to 32768`},
		"height above the side":  {sample, []func(*inference.ModelConfig){set("max_side", "100"), set("max_height", "101")}, `parameter "max_height": is "101", must be a whole number from 1 to 100`},
		"frames":                 {sample, []func(*inference.ModelConfig){set("max_frames", "-1")}, `parameter "max_frames": is "-1"`},
		"scale of nothing":       {sample, []func(*inference.ModelConfig){set("scale_output", "scale")}, `parameter "scale_output": is "scale", must be an output of the model that is named once`},
		"size_output of a kind":  {sample, []func(*inference.ModelConfig){set("size_output", "image")}, `parameter "size_output": is "image", which must be INT32 [2], but is UINT8 [224,224,3]`},
		"one output for both":    {func(tb testing.TB) *inference.ModelConfig { return detector(tb, letterbox) }, []func(*inference.ModelConfig){set("padding_output", "size")}, `parameter "padding_output": is "size", must be an output of the model that is named once`},
		"output without its key": {func(tb testing.TB) *inference.ModelConfig { return detector(tb, letterbox) }, []func(*inference.ModelConfig){unset("size_output")}, "it has 2 outputs, the image backend has 1 beside those"},
		"std near zero":          {float32s, []func(*inference.ModelConfig){set("std", "1e-60")}, `parameter "std": has a zero`},
		"pixels of four": {
			sample,
			[]func(*inference.ModelConfig){func(c *inference.ModelConfig) {
				c.Input[0].DataType, c.Input[0].Dims = inference.DataType_TYPE_UINT8, []int64{-1, -1, 4}
			}},
			`input "IMAGE" is UINT8 [-1,-1,4], the image backend wants BYTES [1] (TYPE_STRING) for files or UINT8 [-1,-1,3] for pixels`,
		},
		"two inputs": {
			sample,
			[]func(*inference.ModelConfig){func(c *inference.ModelConfig) { c.Input = append(c.Input, c.Input[0]) }},
			"it has 2 inputs, the image backend wants 1",
		},
		"no output": {sample, []func(*inference.ModelConfig){func(c *inference.ModelConfig) { c.Output = nil }}, "it has 0 outputs"},
		"input type": {
			sample,
			[]func(*inference.ModelConfig){func(c *inference.ModelConfig) { c.Input[0].DataType = inference.DataType_TYPE_UINT8 }},
			`input "IMAGE" is UINT8 [1], the image backend wants BYTES [1] (TYPE_STRING)`,
		},
		"input dims": {sample, []func(*inference.ModelConfig){func(c *inference.ModelConfig) { c.Input[0].Dims = []int64{-1} }}, `input "IMAGE" is BYTES [-1]`},
		"output type": {
			sample,
			[]func(*inference.ModelConfig){func(c *inference.ModelConfig) { c.Output[0].DataType = inference.DataType_TYPE_INT8 }},
			`output "image" is INT8, the image backend gives UINT8, FP16 or FP32`,
		},
		"output rank": {
			sample,
			[]func(*inference.ModelConfig){func(c *inference.ModelConfig) { c.Output[0].Dims = []int64{224, 224} }},
			`output "image" has dims [224,224], the image backend gives three`,
		},
		"output grey": {
			sample,
			[]func(*inference.ModelConfig){func(c *inference.ModelConfig) { c.Output[0].Dims = []int64{224, 224, 1} }},
			`parameter "layout": is NHWC, whose dims in RGB are [height,width,3]`,
		},
		"output too large": {
			float32s,
			[]func(*inference.ModelConfig){func(c *inference.ModelConfig) { c.Output[0].Dims = []int64{3, 4096, 4096} }},
			`output "image" has dims [3,4096,4096], which takes 1 GiB or more for a batch of 8`,
		},
		"output free": {
			sample,
			[]func(*inference.ModelConfig){func(c *inference.ModelConfig) { c.Output[0].Dims = []int64{-1, -1, 3} }},
			`output "image" has dims [-1,-1,3]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := tc.base(t)
			for _, change := range tc.change {
				change(cfg)
			}
			_, err := backend(t, preprocess.DefaultConfig(), telemetry.Discard()).Load(context.Background(), modelserver.Spec{Config: cfg, Version: 1})
			if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), tc.want) {
				t.Errorf("got %v, want Invalid with %q", err, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), cfg.GetName()) {
				t.Errorf("%v does not name the model", err)
			}
		})
	}
}

func TestConfigurationsThatAreTaken(t *testing.T) {
	for name, change := range map[string][]func(*inference.ModelConfig){
		"exact":             {set("resize", "exact"), set("crop", "none"), set("size", "224")},
		"exact, two sides":  {set("resize", "exact"), set("crop", "none"), set("size", "224, 224")},
		"exact, cropped":    {set("resize", "exact"), set("size", "300,240")},
		"none":              {set("resize", "none"), unset("size")},
		"defaults":          {unset("resize"), unset("filter"), unset("crop"), unset("layout")},
		"lower limits":      {set("max_bytes", "1000000"), set("max_pixels", "1000000"), set("max_side", "2000")},
		"orientation":       {set("orientation", "ignore")},
		"planes":            {set("layout", "NCHW"), func(c *inference.ModelConfig) { c.Output[0].Dims = []int64{3, 224, 224} }},
		"smaller than crop": {set("size", "100"), set("pad_value", "1,2,3")},
		"longest":           {set("resize", "longest"), set("crop", "none"), unset("size"), set("pad_value", "114"), set("pad", "corner"), set("upscale", "false")},
		"longest with size": {set("resize", "longest"), unset("crop"), set("size", "224,224")},
		"exact by dims":     {set("resize", "exact"), set("crop", "none"), unset("size")},
		"aliased":           {set("antialias", "false")},
		"BGR":               {set("colors", "BGR")},
		"background":        {set("background", "#FFeedd")},
		"background, three": {set("background", "255, 255, 255")},
		"scaled":            {set("decode", "scaled")},
		"sides":             {set("max_side", "2000"), set("max_width", "1000"), set("max_height", "900"), set("max_frames", "1")},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sample(t)
			for _, c := range change {
				c(cfg)
			}
			out := infer(t, load(t, cfg, telemetry.Discard()), request(image(t, "coffee.jpg")))
			if len(out.Data) != 224*224*3 {
				t.Errorf("the tensor has %d bytes", len(out.Data))
			}
		})
	}
}

func TestModelsLimitsHold(t *testing.T) {
	for key, want := range map[string]string{"max_width": "at most 100 wide", "max_height": "at most 100 high", "max_bytes": "at most 100", "max_pixels": "at most 100 in all", "max_side": "a side may have at most 100"} {
		t.Run(key, func(t *testing.T) {
			cfg := sample(t)
			set(key, "100")(cfg)
			_, err := load(t, cfg, telemetry.Discard()).Infer(context.Background(), request(image(t, "cat.jpg")))
			if failure.KindOf(err) != failure.TooLarge || !strings.Contains(failure.Message(err), want) {
				t.Errorf("got %v, want too large with %q", err, want)
			}
		})
	}
}

func TestModelsLimitOfFrames(t *testing.T) {
	cfg := sample(t)
	set("max_frames", "1")(cfg)
	m := load(t, cfg, telemetry.Discard())
	infer(t, m, request(image(t, "cat.gif")))
	_, err := m.Infer(context.Background(), request(caseImage(t, "anim.webp")))
	if failure.KindOf(err) != failure.TooLarge || !strings.Contains(failure.Message(err), "more frames than the 1 that are allowed") {
		t.Errorf("got %v, want too large by its frames", err)
	}
}

// Transparent pixels lie over the background that is configured (PRE-06).
func TestBackground(t *testing.T) {
	cfg := sample(t)
	infer(t, load(t, cfg, telemetry.Discard()), request(caseImage(t, "transparent_red.png")))
	set("background", "#0a141e")(cfg)
	out := infer(t, load(t, cfg, telemetry.Discard()), request(caseImage(t, "transparent_red.png")))
	if diff := cmp.Diff([]byte{10, 20, 30}, out.Data[3*224*112:][:3]); diff != "" {
		t.Error(diff)
	}
}
