package rest

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"

	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// answer is a finished answer, of which no byte has been written.
type answer struct {
	text   *[]byte
	binary [][]byte
	// isBinary tells whether the extension's header is needed; binary data may be
	// empty.
	isBinary bool
}

// texts are kept between answers; very big ones are not.
var texts = sync.Pool{New: func() any { return new([]byte) }}

const keepText = 1 << 20

// render makes the answer to req. All of it is made before any is written, so
// that what JSON can't hold is still a clean failure.
func render(req *request, resp *inference.ModelInferResponse) (*answer, error) {
	if n := len(resp.GetRawOutputContents()); n != len(resp.GetOutputs()) {
		return nil, failure.New(failure.Internal, "the model gave %d outputs but the data of %d", len(resp.GetOutputs()), n)
	}
	text, _ := texts.Get().(*[]byte)
	a := &answer{text: text}
	dst := (*text)[:0]
	dst = append(dst, '{')
	if id := req.message.GetId(); id != "" {
		dst = append(appendText(append(dst, `"id":`...), id), ',')
	}
	dst = appendText(append(dst, `"model_name":`...), resp.GetModelName())
	dst = appendText(append(dst, `,"model_version":`...), resp.GetModelVersion())
	var err error
	if len(resp.GetParameters()) > 0 {
		if dst, err = appendParameters(append(dst, `,"parameters":`...), resp.GetParameters(), -1); err != nil {
			return nil, err
		}
	}
	dst = append(dst, `,"outputs":[`...)
	for i, out := range resp.GetOutputs() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = a.output(dst, out, resp.GetRawOutputContents()[i], req.formOf(out.GetName())); err != nil {
			return nil, failure.Prefix("output "+failure.Quote(out.GetName()), err)
		}
	}
	dst = append(dst, "]}"...)
	*text = dst
	return a, nil
}

// output appends the description of one output, and its data or where that is.
func (a *answer) output(dst []byte, out *inference.ModelInferResponse_InferOutputTensor, data []byte, f form) ([]byte, error) {
	dst = appendText(append(dst, `{"name":`...), out.GetName())
	dst = appendText(append(dst, `,"datatype":`...), out.GetDatatype())
	dst = append(dst, `,"shape":[`...)
	for i, d := range out.GetShape() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, d, 10)
	}
	dst = append(dst, ']')
	params, size := out.GetParameters(), -1
	if f.binary {
		size = len(data)
		a.binary, a.isBinary = append(a.binary, data), true
	} else if f.base64 && out.GetDatatype() == oip.Bytes {
		params = withContentType(params)
	}
	var err error
	if len(params) > 0 || size >= 0 {
		if dst, err = appendParameters(append(dst, `,"parameters":`...), params, size); err != nil {
			return nil, err
		}
	}
	if !f.binary {
		if dst, err = appendData(append(dst, `,"data":`...), out.GetDatatype(), out.GetShape(), data, f.base64); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func withContentType(params oip.Parameters) oip.Parameters {
	with := oip.Parameters{contentType: oip.String(base64Type)}
	for key, p := range params {
		with[key] = p
	}
	return with
}

// AppendTensor appends an output of a response in JSON form; BYTES that are not
// UTF-8 are in base64. Invalid and Internal say what JSON can't hold.
func AppendTensor(dst []byte, out *inference.ModelInferResponse_InferOutputTensor, data []byte) ([]byte, error) {
	length := len(dst)
	a := &answer{}
	whole, err := a.output(dst, out, data, form{})
	if err != nil && out.GetDatatype() == oip.Bytes {
		whole, err = a.output(dst[:length], out, data, form{base64: true})
	}
	return whole, err
}

// write sends the answer.
func (a *answer) write(c *gin.Context) error {
	defer func() {
		if cap(*a.text) <= keepText {
			texts.Put(a.text)
		}
	}()
	if !a.isBinary {
		return web.JSONText(c, http.StatusOK, *a.text)
	}
	// Binary answers are not compressed: tensors hardly shrink, and every client
	// with a default Accept-Encoding would pay for the attempt.
	c.Header("Content-Type", "application/octet-stream")
	c.Header(HeaderLength, strconv.Itoa(len(*a.text)))
	return web.Parts(c, http.StatusOK, append([][]byte{*a.text}, a.binary...)...)
}
