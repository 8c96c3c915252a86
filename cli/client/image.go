package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// maxTensor bounds an answer with tensors.
const maxTensor = 1 << 30

// headerLength is the header of the binary tensor extension.
const headerLength = "Inference-Header-Content-Length"

// Metadata is what a model says of itself.
type Metadata struct {
	Name       string            `json:"name"`
	Versions   []string          `json:"versions"`
	Properties map[string]string `json:"properties"`
}

// Metadata asks for that of a model.
func (c *Client) Metadata(ctx context.Context, model string) (Metadata, error) {
	var m Metadata
	err := c.get(ctx, modelPath(model, ""), &m)
	return m, err
}

// Config asks for a model's configuration.
func (c *Client) Config(ctx context.Context, model string) (*inference.ModelConfig, error) {
	var text json.RawMessage
	if err := c.get(ctx, modelPath(model, "/config"), &text); err != nil {
		return nil, err
	}
	cfg, err := modelconfig.ParseJSON("the configuration of "+model, text)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the configuration that %s has of %q can't be read", c.base, model)
	}
	return cfg, nil
}

// Tensors are what a model made of one request.
type Tensors struct {
	// Version is that of the model.
	Version string
	Outputs []oip.Tensor
}

// Infer sends one tensor to a model and gets all its outputs, as bytes both ways.
func (c *Client) Infer(ctx context.Context, model string, input oip.Tensor) (Tensors, error) {
	head, err := json.Marshal(map[string]any{
		"parameters": map[string]any{"binary_data_output": true},
		"inputs": []any{map[string]any{
			"name": input.Name, "datatype": input.Datatype, "shape": input.Shape,
			"parameters": map[string]any{"binary_data_size": len(input.Data)},
		}},
	})
	if err != nil {
		return Tensors{}, err
	}
	headers := http.Header{"Content-Type": {"application/octet-stream"}, headerLength: {strconv.Itoa(len(head))}}
	data, back, err := c.call(ctx, http.MethodPost, modelPath(model, "/infer"), headers, append(head, input.Data...), maxTensor)
	if err != nil {
		return Tensors{}, err
	}
	t, ok := readTensors(data, back.Get(headerLength))
	if !ok {
		return Tensors{}, failure.New(failure.Internal, "the answer of %s is not what a gateway says", c.base)
	}
	return t, nil
}

// readTensors cuts an answer into its JSON part, of the given length, and the
// tensors behind it.
func readTensors(data []byte, length string) (t Tensors, ok bool) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > len(data) {
		return t, false
	}
	var head struct {
		Version string `json:"model_version"`
		Outputs []struct {
			Name       string
			Datatype   string
			Shape      []int64
			Parameters struct {
				Size *int `json:"binary_data_size"`
			}
		}
	}
	if err := json.Unmarshal(data[:n], &head); err != nil {
		return t, false
	}
	t.Version, data = head.Version, data[n:]
	for _, out := range head.Outputs {
		size := out.Parameters.Size
		if size == nil || *size < 0 || *size > len(data) {
			return t, false
		}
		t.Outputs = append(t.Outputs, oip.Tensor{Name: out.Name, Datatype: out.Datatype, Shape: out.Shape, Data: data[:*size]})
		data = data[*size:]
	}
	return t, len(data) == 0
}

func modelPath(model, rest string) string { return "/v2/models/" + url.PathEscape(model) + rest }

func (c *Client) get(ctx context.Context, path string, answer any) error {
	data, _, err := c.call(ctx, http.MethodGet, path, http.Header{}, nil, maxAnswer)
	if err != nil {
		return err
	}
	return c.read(data, answer)
}
