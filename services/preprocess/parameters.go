package preprocess

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"triptych/proto/inference"
	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
	"triptych/services/preprocess/transform"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// readDecode reads the parameters that say how files are read. Faults stay in
// params.
func (p *plan) readDecode(params *modelconfig.Parameters, limits Config) {
	side := readLimit(params, "max_side", limits.MaxSide)
	p.decode = decode.Options{
		Limits: decode.Limits{
			Bytes:  readLimit(params, "max_bytes", limits.MaxBytes),
			Pixels: readLimit(params, "max_pixels", limits.MaxPixels),
			Side:   side,
			Width:  params.Int("max_width", side, 1, side),
			Height: params.Int("max_height", side, 1, side),
			Frames: params.Int("max_frames", 0, 0, maxFrames),
		},
		Background: readColor(params, "background"),
	}
	p.scaled = params.Word("decode", "exact", "scaled") == "scaled"
	p.upright = params.Word("orientation", "exif", "ignore") == "exif"
}

// readLimit reads a limit that is the service's by default, and can only be lower.
func readLimit(params *modelconfig.Parameters, key string, most int64) int64 {
	if n, err := strconv.ParseInt(params.Text(key, ""), 10, 64); err == nil && n > most {
		params.Fail(key, "is %d, but the service takes %d at most (--image-%s)", n, most, strings.ReplaceAll(key, "_", "-"))
	}
	return params.Int(key, most, 1, most)
}

// maxFrames bounds what max_frames can ask to be counted.
const maxFrames = 1 << 20

// readSpec reads the parameters that say what becomes of the pixels. Faults stay
// in params.
func readSpec(params *modelconfig.Parameters, out *inference.ModelOutput) transform.Spec {
	s := transform.Spec{
		Resize: transform.Resize(params.Word("resize", string(transform.Shortest), string(transform.Longest), string(transform.Exact), string(transform.Keep))),
		Filter: resample.Filter(params.Word("filter", string(resample.Bilinear), string(resample.Nearest), string(resample.Box),
			string(resample.Hamming), string(resample.Bicubic), string(resample.Lanczos), string(resample.OpenCVLinear))),
		Layout:  transform.Layout(params.Word("layout", string(transform.NHWC), string(transform.NCHW))),
		Colors:  transform.Colors(params.Word("colors", string(transform.RGB), string(transform.BGR), string(transform.Grey))),
		Element: transform.Element(oip.Datatype(out.GetDataType())),
	}
	readAntialias(params, &s)
	readDims(params, &s, out)
	readCrop(params, &s)
	readSize(params, &s, out)
	readPadding(params, &s)
	s.Normalise = readNormalisation(params, s.Colors, out)
	return s
}

// given tells whether the configuration, or its preset, has the key.
func given(params *modelconfig.Parameters, key string) bool { return params.Text(key, "") != "" }

// readAntialias reads `antialias`, which not every filter can have.
func readAntialias(params *modelconfig.Parameters, s *transform.Spec) {
	wanted := params.Bool("antialias", true)
	if wanted && given(params, "antialias") && (s.Filter == resample.Nearest || s.Filter == resample.OpenCVLinear) {
		params.Fail("antialias", "is true, but filter %q has none", s.Filter)
	}
	s.Aliased = !wanted
}

// readCrop reads `crop`, whose default is what goes with `resize`.
func readCrop(params *modelconfig.Parameters, s *transform.Spec) {
	if s.Resize == transform.Longest {
		if params.Word("crop", "none", "center") == "center" {
			params.Fail("crop", "is \"center\", but resize %q leaves nothing to crop", s.Resize)
		}
		return
	}
	s.Crop = params.Word("crop", "center", "none") == "center"
}

// readNormalisation reads `mean`, `std` and `scale`, which only floats have. One of
// mean and std without the other is a mistake that would cost accuracy silently.
func readNormalisation(params *modelconfig.Parameters, colors transform.Colors, out *inference.ModelOutput) *transform.Normalisation {
	if !isFloat(out) {
		for _, key := range []string{"mean", "std", "scale"} {
			if given(params, key) {
				params.Fail(key, "needs an FP32 or FP16 output, but output %q is %s", out.GetName(), oip.Datatype(out.GetDataType()))
			}
		}
		return nil
	}
	mean, std := given(params, "mean"), given(params, "std")
	if mean && !std {
		params.Fail("std", "is missing, mean is given")
	}
	if std && !mean {
		params.Fail("mean", "is missing, std is given")
	}
	count := colors.Count()
	n := &transform.Normalisation{Scale: params.Floats("scale", 1, []float64{1.0 / 255})[0]}
	copy(n.Mean[:], params.Floats("mean", count, make([]float64, count)))
	copy(n.Std[:], params.Floats("std", count, slices.Repeat([]float64{1}, count)))
	// The arithmetic is that of float32, where a number may be zero that is none.
	if slices.ContainsFunc(n.Std[:count], func(v float64) bool { return float32(v) == 0 }) {
		params.Fail("std", "has a zero, which nothing can be divided by")
	}
	return n
}

// readColor reads a color: "r,g,b" or "#rrggbb". Nil when absent.
func readColor(params *modelconfig.Parameters, key string) *decode.Color {
	text := params.Text(key, "")
	if text == "" {
		return nil
	}
	c := &decode.Color{}
	const form = "is %q, must be \"r,g,b\" or \"#rrggbb\""
	if digits, ok := strings.CutPrefix(text, "#"); ok {
		if n, err := hex.Decode(c[:], []byte(digits[:min(len(digits), 2*len(c))])); err != nil || n != len(c) || len(digits) != 2*len(c) {
			params.Fail(key, form, text)
		}
		return c
	}
	if strings.ContainsFunc(text, unicode.IsLetter) {
		params.Fail(key, form, text)
	}
	copy(c[:], readSamples(params, key, pixels.Samples))
	return c
}

// readSamples reads whole numbers from 0 to 255, one of which may stand for all.
// They are zero when absent.
func readSamples(params *modelconfig.Parameters, key string, count int) []byte {
	samples := make([]byte, count)
	for i, v := range params.Floats(key, count, make([]float64, count)) {
		samples[i] = byte(max(min(v, 255), 0))
		if float64(samples[i]) != v {
			params.Fail(key, "has %v, must be whole numbers from 0 to 255", v)
		}
	}
	return samples
}
