package rest

import (
	"context"

	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// raw makes the request of a body that is nothing but the data of the model's
// one input. A BYTES body is the one element, without its length in front.
// The outputs come back as binary data.
func (a *API) raw(ctx context.Context, model, version string, body []byte) (*request, error) {
	resp, err := a.server.ModelConfig(ctx, &inference.ModelConfigRequest{Name: model, Version: version})
	if err != nil {
		return nil, web.Failure(err)
	}
	cfg := resp.GetConfig()
	if n := len(cfg.GetInput()); n != 1 {
		return nil, failure.New(failure.Invalid, "a raw body needs a model with one input, model %q has %d", model, n)
	}
	in := cfg.GetInput()[0]
	datatype := oip.Datatype(in.GetDataType())
	shape, err := rawShape(in, datatype, int64(len(body)))
	if err != nil {
		return nil, failure.Prefix("input "+failure.Quote(in.GetName()), err)
	}
	if cfg.GetMaxBatchSize() > 0 {
		shape = append([]int64{1}, shape...)
	}
	if datatype == oip.Bytes {
		body = oip.JoinStrings(body)
	}
	message := &inference.ModelInferRequest{}
	oip.AddInput(message, oip.Tensor{Name: in.GetName(), Datatype: datatype, Shape: shape, Data: body})
	return &request{message: message, binary: true}, nil
}

// rawShape fills in the one free dimension that the input may have from the
// number of bytes.
func rawShape(in *inference.ModelInput, datatype string, size int64) ([]int64, error) {
	shape := append([]int64(nil), in.GetDims()...)
	free, known := -1, int64(1)
	for i, d := range shape {
		switch {
		case d >= 0:
			known *= d
		case free >= 0:
			return nil, failure.New(failure.Invalid, "a raw body can fill in one free dimension, shape %s has more", oip.FormatShape(shape))
		default:
			free = i
		}
	}
	if datatype == oip.Bytes {
		if free >= 0 {
			shape[free] = 1
		}
		if known != 1 {
			return nil, failure.New(failure.Invalid, "a raw body is one BYTES element, shape %s has more", oip.FormatShape(in.GetDims()))
		}
		return shape, nil
	}
	if free < 0 {
		return shape, nil
	}
	row := known * int64(oip.Size(datatype))
	if row <= 0 || size%row != 0 {
		return nil, failure.New(failure.Invalid, "a raw body of %d bytes does not fill %s of shape %s", size, datatype, oip.FormatShape(shape))
	}
	shape[free] = size / row
	return shape, nil
}
