package classify

import (
	"context"
	"encoding/binary"
	"io"

	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/pipeline"
)

// lengthPrefix is what stands before a BYTES element.
const lengthPrefix = 4

// readImage reads an image of at most so many bytes as a BYTES element, into
// memory that has room for the element's length, so that the image is not
// copied. The size is what is expected, or less than 0.
func readImage(r io.Reader, size, most int64) ([]byte, error) {
	if size > most {
		return nil, imageTooLarge(most)
	}
	element, err := web.ReadAll(io.LimitReader(r, most+1), lengthPrefix, size)
	if err != nil {
		return nil, err
	}
	n := int64(len(element) - lengthPrefix)
	if n > most {
		return nil, imageTooLarge(most)
	}
	if n == 0 {
		return nil, failure.New(failure.Invalid, "the image is empty: it has 0 bytes")
	}
	binary.LittleEndian.PutUint32(element, uint32(n))
	return element, nil
}

func imageTooLarge(most int64) error {
	return failure.New(failure.TooLarge, "the image has more than %d bytes", most)
}

// result is what became of one image.
type result struct {
	name        string
	model       string
	version     string
	predictions []prediction
	steps       []pipeline.StepTiming
	err         error
}

// image classifies one image. Its failure is in the result.
func (a *API) image(ctx context.Context, q query, name string, element []byte) *result {
	r := &result{name: name}
	recorder := &pipeline.Recorder{}
	req := &inference.ModelInferRequest{
		ModelName:  q.model.name,
		Parameters: oip.Parameters{"top_k": oip.Int64(q.topK)},
		Outputs:    []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: labelOutput}, {Name: scoreOutput}, {Name: classOutput}},
	}
	oip.AddInput(req, oip.Tensor{Name: q.model.input, Datatype: oip.Bytes, Shape: q.model.shape, Data: element})
	r.err = web.Guard(func() error {
		resp, err := a.server.ModelInfer(pipeline.WithRecorder(ctx, recorder), req)
		if err != nil {
			return web.Failure(err)
		}
		r.model, r.version = resp.GetModelName(), resp.GetModelVersion()
		r.predictions, err = predictions(resp)
		return err
	})
	if failure.KindOf(r.err) == failure.NotFound {
		a.models.forget(q.model.name)
	}
	r.steps = recorder.Steps()
	return r
}
