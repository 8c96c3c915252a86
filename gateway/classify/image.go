package classify

import (
	"context"
	"io"

	"triptych/gateway/classes"
	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/pipeline"
)

// readImage reads an image of at most so many bytes as a BYTES element, into
// memory that has room for the element's length, so that the image is not
// copied. The size is what is expected, or less than 0.
func readImage(r io.Reader, size, most int64) ([]byte, error) {
	if size > most {
		return nil, imageTooLarge(most)
	}
	prefix := len(oip.JoinStrings(""))
	element, err := web.ReadAll(io.LimitReader(r, most+1), prefix, size)
	if err != nil {
		return nil, err
	}
	image := element[prefix:]
	if int64(len(image)) > most {
		return nil, imageTooLarge(most)
	}
	if len(image) == 0 { // in the words of those who would decode it
		return nil, failure.New(failure.BrokenImage, "the image is empty: it has 0 bytes")
	}
	return oip.AppendString(element[:0], image), nil
}

func imageTooLarge(most int64) error {
	return failure.New(failure.TooLarge, "the image has more than %d bytes", most)
}

// result is what became of one image.
type result struct {
	name        string
	model       string
	version     string
	predictions []classes.Prediction
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
		Outputs:    []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: classes.Label}, {Name: classes.Score}, {Name: classes.Class}},
	}
	oip.AddInput(req, oip.Tensor{Name: q.model.Name, Datatype: oip.Bytes, Shape: q.model.Shape, Data: element})
	r.err = failure.Guard("internal error", func() error {
		resp, err := a.server.ModelInfer(pipeline.WithRecorder(ctx, recorder), req)
		if err != nil {
			return web.Failure(err)
		}
		r.model, r.version = resp.GetModelName(), resp.GetModelVersion()
		r.predictions, err = classes.Predictions(resp)
		return err
	})
	if failure.KindOf(r.err) == failure.NotFound {
		a.models.forget(q.model.name)
	}
	r.steps = recorder.Steps()
	return r
}
