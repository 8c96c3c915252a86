package preprocess

import (
	"strconv"

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
	// raw takes pixels instead of files.
	raw bool
	// beside are the outputs that tell where an image is in its tensor.
	beside beside
	decode decode.Options
	// scaled lets a decoder reduce a picture that is going to be reduced anyway.
	scaled bool
	// upright turns images as EXIF says.
	upright bool
	// srgb turns colors into sRGB by the profile that a file holds.
	srgb      bool
	transform *transform.Transform
	filter    resample.Filter
	// properties tell how the result is laid out.
	properties map[string]string
}

// maxResult bounds the bytes of an answer.
const maxResult = 1 << 30

func readPlan(cfg *inference.ModelConfig, limits Config) (*plan, error) {
	params := modelconfig.NewParameters(withPreset(cfg))
	p := &plan{batched: cfg.GetMaxBatchSize() > 0, beside: readBeside(params, cfg)}
	if err := params.Fault(); err != nil {
		return nil, err
	}
	in, out, err := p.tensors(cfg)
	if err != nil {
		return nil, failure.Prefix("model "+strconv.Quote(cfg.GetName()), err)
	}
	p.input, p.raw = in.GetName(), in.GetDataType() == inference.DataType_TYPE_UINT8
	p.output, p.datatype, p.shape = out.GetName(), oip.Datatype(out.GetDataType()), out.GetDims()
	checkPreset(params, out)
	p.readDecode(params, limits)
	if p.srgb = params.Word("color_profile", "ignore", "srgb") == "srgb"; p.srgb && !decode.ColorProfiles {
		params.Fail("color_profile", "is %q, but this build has no Little CMS, which that takes", "srgb")
	}
	spec := readSpec(params, out)
	if err := params.Err(); err != nil {
		return nil, err
	}
	if p.transform, err = transform.New(spec); err != nil {
		return nil, failure.Prefix("model "+strconv.Quote(cfg.GetName()), err)
	}
	if batch := max(int64(cfg.GetMaxBatchSize()), 1); batch > (maxResult-1)/int64(p.transform.Bytes()) {
		return nil, failure.New(failure.Invalid, "model %q: output %q has dims %s, which takes 1 GiB or more for a batch of %d", cfg.GetName(), p.output, oip.FormatShape(p.shape), batch)
	}
	p.filter, p.properties = spec.Filter, describe(spec)
	return p, nil
}

// reduction is by what a decoder is to divide the sides of a picture: 1 unless
// the model allows more.
func (p *plan) reduction(to *transform.Plan, header decode.Header) int {
	if !p.scaled {
		return 1
	}
	return to.Reduction(header.Reductions())
}
