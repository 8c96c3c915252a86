package preprocess

import (
	"image"

	"triptych/proto/inference"
	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// source is one image of a request: a file, or pixels that are decoded already.
type source struct {
	data []byte
	// raw tells that data are RGB pixels of this size.
	raw  bool
	size image.Point
	// picture is filled in by read.
	picture
}

// open reads what there is to know of the image before memory is taken for it.
func (s *source) open(opts decode.Options) (decode.Header, error) {
	if s.raw {
		return decode.OpenRaw(s.data, s.size, opts)
	}
	return decode.Open(s.data, opts)
}

// images are the sources in the request: one, or one per row of the batch. They
// share the request's memory.
func (m *model) images(req *inference.ModelInferRequest) ([]source, error) {
	in, ok := oip.Input(req, m.plan.input)
	if !ok {
		return nil, failure.New(failure.Invalid, "missing input %q", m.plan.input)
	}
	read := files
	if m.plan.raw {
		read = m.plan.rows
	}
	images, err := read(in)
	if err == nil && len(images) == 0 {
		err = failure.New(failure.Invalid, "input %q has no images", m.plan.input)
	}
	return images, err
}

// files are the elements of a BYTES tensor.
func files(in oip.Tensor) ([]source, error) {
	count, err := oip.Elements(in.Shape)
	if err != nil {
		return nil, err
	}
	elements, err := oip.Strings(in.Data, count)
	images := make([]source, len(elements))
	for i, data := range elements {
		images[i].data = data
	}
	return images, err
}

// rows are the images of a UINT8 tensor [H,W,3] or [N,H,W,3].
func (p *plan) rows(in oip.Tensor) ([]source, error) {
	shape, count := in.Shape, int64(1)
	if p.batched && len(shape) > 0 {
		count, shape = shape[0], shape[1:]
	}
	size, err := oip.ByteSize(in.Datatype, in.Shape)
	if err != nil {
		return nil, err
	}
	if len(shape) != 3 || shape[2] != pixels.Samples || size != int64(len(in.Data)) {
		return nil, failure.New(failure.Invalid, "input %q is %s %s with %d bytes, must be UINT8 pixels [height,width,3]",
			in.Name, in.Datatype, oip.FormatShape(in.Shape), len(in.Data))
	}
	if size == 0 {
		return nil, failure.New(failure.Invalid, "input %q has no pixels: its shape is %s", in.Name, oip.FormatShape(in.Shape))
	}
	images := make([]source, count)
	for i, n := 0, int(size/count); i < len(images); i++ {
		images[i] = source{data: in.Data[i*n : (i+1)*n], raw: true, size: image.Pt(int(shape[1]), int(shape[0]))}
	}
	return images, nil
}
