package target

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"triptych/loadtest/measure"
	"triptych/loadtest/sample"
	"triptych/shared/oip"
)

// lengthHeader says where the JSON of a message ends and its binary tensors
// begin.
const lengthHeader = "Inference-Header-Content-Length"

// rest sends images by the binary tensor extension of the protocol's REST form.
type rest struct {
	*client
	output   string
	requests []restRequest
}

type restRequest struct {
	header http.Header
	body   []byte
}

func newREST(o Options, base *url.URL, images []sample.Image) (*rest, error) {
	path := []string{"v2", "models", o.Model}
	if o.Version != "" {
		path = append(path, "versions", o.Version)
	}
	r := &rest{client: newClient(base.JoinPath(append(path, "infer")...), nil, o.InFlight), output: o.Output}
	for _, image := range images {
		data := oip.JoinStrings(image.Data)
		head, err := json.Marshal(map[string]any{
			"parameters": o.parameters(),
			"inputs": []any{map[string]any{
				"name": o.Input, "datatype": oip.Bytes, "shape": []int{1, 1},
				"parameters": map[string]any{"binary_data_size": len(data)},
			}},
			"outputs": []any{map[string]any{"name": o.Output, "parameters": map[string]any{"binary_data": true}}},
		})
		if err != nil {
			return nil, err
		}
		header := o.headers()
		header.Set("Content-Type", "application/octet-stream")
		header.Set(lengthHeader, strconv.Itoa(len(head)))
		r.requests = append(r.requests, restRequest{header, append(head, data...)})
	}
	return r, nil
}

// Do sends image n.
func (r *rest) Do(ctx context.Context, n int) (measure.Answer, error) {
	return r.post(ctx, r.requests[n].header, r.requests[n].body, r.read)
}

// restAnswer is the JSON part of an answer.
type restAnswer struct {
	Outputs []restOutput `json:"outputs"`
}

type restOutput struct {
	Name       string  `json:"name"`
	Shape      []int64 `json:"shape"`
	Parameters struct {
		BinarySize *int `json:"binary_data_size"`
	} `json:"parameters"`
	Data json.RawMessage `json:"data"`
}

func (r *rest) read(header http.Header, body []byte) ([]string, error) {
	head, binary, err := split(header.Get(lengthHeader), body)
	if err != nil {
		return nil, err
	}
	var answer restAnswer
	if err := json.Unmarshal(head, &answer); err != nil {
		return nil, bad("the answer is not JSON: " + err.Error())
	}
	for _, out := range answer.Outputs {
		var data []byte
		if size := out.Parameters.BinarySize; size != nil {
			if *size < 0 || *size > len(binary) {
				return nil, bad("the answer is shorter than its binary_data_size says")
			}
			data, binary = binary[:*size], binary[*size:]
		}
		if out.Name == r.output {
			return out.labels(data)
		}
	}
	return nil, bad("the answer has no output " + r.output)
}

// split parts an answer's JSON from its binary tensors. Without a length it is
// all JSON.
func split(length string, body []byte) (head, binary []byte, err error) {
	if length == "" {
		return body, nil, nil
	}
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > len(body) {
		return nil, nil, bad(lengthHeader + " of the answer is " + length)
	}
	return body[:n], body[n:], nil
}

func (o restOutput) labels(binary []byte) ([]string, error) {
	if o.Parameters.BinarySize != nil {
		return decodeLabels(o.Shape, binary)
	}
	var labels []string
	if err := json.Unmarshal(o.Data, &labels); err != nil {
		return nil, bad("output " + o.Name + " is no list of labels: " + err.Error())
	}
	return labels, nil
}

// decodeLabels copies the elements of a BYTES tensor.
func decodeLabels(shape []int64, data []byte) ([]string, error) {
	n, err := oip.Elements(shape)
	if err != nil {
		return nil, bad(err.Error())
	}
	elements, err := oip.Strings(data, n)
	if err != nil {
		return nil, bad(err.Error())
	}
	labels := make([]string, len(elements))
	for i, e := range elements {
		labels[i] = string(e)
	}
	return labels, nil
}
