package preprocess

import (
	"slices"
	"strconv"
	"strings"

	"triptych/proto/inference"
	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/resample"
	"triptych/services/preprocess/transform"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// plan is a model's configuration, checked.
type plan struct {
	input, output string
	datatype      string
	// shape is that of one image.
	shape   []int64
	batched bool
	decode  decode.Options
	// upright turns images as EXIF says.
	upright bool
	// srgb turns colors into sRGB by the profile that a file holds.
	srgb      bool
	transform *transform.Transform
	filter    resample.Filter
}

// maxSize bounds what a configuration can ask an image to be resized to.
const maxSize = 16384

// maxResult bounds the bytes of an answer.
const maxResult = 1 << 30

func readPlan(cfg *inference.ModelConfig, limits Config) (*plan, error) {
	if err := checkTensors(cfg); err != nil {
		return nil, err
	}
	out := cfg.GetOutput()[0]
	p := &plan{
		input: cfg.GetInput()[0].GetName(), output: out.GetName(), datatype: oip.Datatype(out.GetDataType()),
		shape: out.GetDims(), batched: cfg.GetMaxBatchSize() > 0,
	}
	params := modelconfig.NewParameters(cfg)
	p.decode.Limits = decode.Limits{
		Bytes:  params.Int("max_bytes", limits.MaxBytes, 1, limits.MaxBytes),
		Pixels: params.Int("max_pixels", limits.MaxPixels, 1, limits.MaxPixels),
		Side:   params.Int("max_side", limits.MaxSide, 1, limits.MaxSide),
	}
	p.upright = params.Word("orientation", "exif", "ignore") == "exif"
	if p.srgb = params.Word("color_profile", "ignore", "srgb") == "srgb"; p.srgb && !decode.ColorProfiles {
		params.Fail("color_profile", "is %q, but this build has no Little CMS, which that takes", "srgb")
	}
	spec := readSpec(params, out)
	if err := params.Err(); err != nil {
		return nil, err
	}
	var err error
	if p.transform, err = transform.New(spec); err != nil {
		return nil, failure.Prefix("model "+strconv.Quote(cfg.GetName()), err)
	}
	if batch := max(int64(cfg.GetMaxBatchSize()), 1); batch > (maxResult-1)/int64(p.transform.Bytes()) {
		return nil, failure.New(failure.Invalid, "model %q: output %q has dims %s, which takes 1 GiB or more for a batch of %d", cfg.GetName(), p.output, oip.FormatShape(p.shape), batch)
	}
	p.filter = spec.Filter
	return p, nil
}

// checkTensors wants one BYTES input of one element and one output of three
// fixed dimensions.
func checkTensors(cfg *inference.ModelConfig) error {
	fail := func(format string, args ...any) error {
		return failure.Prefix("model "+strconv.Quote(cfg.GetName()), failure.New(failure.Invalid, format, args...))
	}
	if n := len(cfg.GetInput()); n != 1 {
		return fail("it has %d inputs, the image backend wants 1", n)
	}
	if n := len(cfg.GetOutput()); n != 1 {
		return fail("it has %d outputs, the image backend has 1", n)
	}
	in, out := cfg.GetInput()[0], cfg.GetOutput()[0]
	if dt := oip.Datatype(in.GetDataType()); dt != oip.Bytes || !slices.Equal(in.GetDims(), []int64{1}) {
		return fail("input %q is %s %s, the image backend wants BYTES [1] (TYPE_STRING)", in.GetName(), dt, oip.FormatShape(in.GetDims()))
	}
	if dt := oip.Datatype(out.GetDataType()); dt != "UINT8" && dt != "FP32" {
		return fail("output %q is %s, the image backend gives UINT8 or FP32", out.GetName(), dt)
	}
	if len(out.GetDims()) != 3 {
		return fail("output %q has dims %s, the image backend gives three", out.GetName(), oip.FormatShape(out.GetDims()))
	}
	return nil
}

// readSpec reads the parameters that say what becomes of the pixels. Faults stay
// in params.
func readSpec(params *modelconfig.Parameters, out *inference.ModelOutput) transform.Spec {
	s := transform.Spec{
		Resize: transform.Resize(params.Word("resize", string(transform.Shortest), string(transform.Exact), string(transform.Keep))),
		Filter: resample.Filter(params.Word("filter", string(resample.Bilinear), string(resample.Nearest), string(resample.Box),
			string(resample.Hamming), string(resample.Bicubic), string(resample.Lanczos))),
		Crop:   params.Word("crop", "center", "none") == "center",
		Layout: transform.Layout(params.Word("layout", string(transform.NHWC), string(transform.NCHW))),
	}
	readSize(params, &s)
	s.Normalise = readNormalisation(params, out)
	readDims(params, &s, out)
	return s
}

// readSize reads `size`: one number, or for an exact resize "width,height".
func readSize(params *modelconfig.Parameters, s *transform.Spec) {
	text := params.Text("size", "")
	if s.Resize == transform.Keep {
		if text != "" {
			params.Fail("size", "is %q, but resize is %q", text, s.Resize)
		}
		return
	}
	if text == "" {
		params.Fail("size", "is missing, resize %q needs it", s.Resize)
		return
	}
	words := strings.Split(text, ",")
	numbers := make([]int, len(words))
	for i, w := range words {
		n, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || n < 1 || n > maxSize {
			params.Fail("size", "is %q, must be whole numbers from 1 to %d", text, maxSize)
			return
		}
		numbers[i] = n
	}
	switch {
	case len(numbers) == 1:
		s.Size, s.Width, s.Height = numbers[0], numbers[0], numbers[0]
	case len(numbers) == 2 && s.Resize == transform.Exact:
		s.Width, s.Height = numbers[0], numbers[1]
	default:
		params.Fail("size", "is %q, resize %q takes one number, resize %q one or \"width,height\"", text, transform.Shortest, transform.Exact)
	}
}

// readNormalisation reads `mean`, `std` and `scale`, which only FP32 has. One of
// mean and std without the other is a mistake that would cost accuracy silently.
func readNormalisation(params *modelconfig.Parameters, out *inference.ModelOutput) *transform.Normalisation {
	const absent = ""
	float := oip.Datatype(out.GetDataType()) == "FP32"
	given := map[string]bool{}
	for _, key := range []string{"mean", "std", "scale"} {
		given[key] = params.Text(key, absent) != absent
		if given[key] && !float {
			params.Fail(key, "needs an FP32 output, but output %q is %s", out.GetName(), oip.Datatype(out.GetDataType()))
		}
	}
	if !float {
		return nil
	}
	if given["mean"] && !given["std"] {
		params.Fail("std", "is missing, mean is given")
	}
	if given["std"] && !given["mean"] {
		params.Fail("mean", "is missing, std is given")
	}
	n := &transform.Normalisation{Scale: params.Floats("scale", 1, []float64{1.0 / 255})[0]}
	copy(n.Mean[:], params.Floats("mean", 3, []float64{0, 0, 0}))
	copy(n.Std[:], params.Floats("std", 3, []float64{1, 1, 1}))
	if slices.Contains(n.Std[:], 0) {
		params.Fail("std", "has a zero, which nothing can be divided by")
	}
	return n
}

// readDims takes the size of the result from the output's dims and holds it
// against what the parameters make.
func readDims(params *modelconfig.Parameters, s *transform.Spec, out *inference.ModelOutput) {
	dims := out.GetDims()
	height, width, colors, form := dims[0], dims[1], dims[2], "[height,width,3]"
	if s.Layout == transform.NCHW {
		colors, height, width, form = dims[0], dims[1], dims[2], "[3,height,width]"
	}
	if colors != 3 || height < 1 || height > maxSize || width < 1 || width > maxSize {
		params.Fail("layout", "is %s, whose dims are %s with sides up to %d, but output %q has dims %s",
			s.Layout, form, maxSize, out.GetName(), oip.FormatShape(dims))
		return
	}
	s.OutWidth, s.OutHeight = int(width), int(height)
	if s.Resize == transform.Exact && !s.Crop && (s.Width != s.OutWidth || s.Height != s.OutHeight) {
		params.Fail("size", "makes images of %dx%d (width x height), but output %q has dims %s, which is %dx%d",
			s.Width, s.Height, out.GetName(), oip.FormatShape(dims), s.OutWidth, s.OutHeight)
	}
}
