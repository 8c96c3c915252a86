package fake

import (
	"context"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/pipeline"
)

// Echo is a model without a batch dimension whose output OUT is its input IN.
func Echo(name string, datatype inference.DataType, dims ...int64) Model {
	return Model{
		Config: &inference.ModelConfig{
			Name: name, Backend: "echo",
			Input:  []*inference.ModelInput{{Name: "IN", DataType: datatype, Dims: dims}},
			Output: []*inference.ModelOutput{{Name: "OUT", DataType: datatype, Dims: dims}},
		},
		Run: func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			in, _ := oip.Input(req, "IN")
			resp := &inference.ModelInferResponse{Parameters: oip.Parameters{
				modelserver.QueueParameter: oip.Int64(1500), modelserver.ComputeParameter: oip.Int64(250),
			}}
			oip.AddOutput(resp, oip.Tensor{Name: "OUT", Datatype: in.Datatype, Shape: in.Shape, Data: in.Data})
			return resp, nil
		},
	}
}

// Constant is a model that takes one UINT8 and always gives the same outputs.
func Constant(name string, outputs ...oip.Tensor) Model {
	cfg := &inference.ModelConfig{Name: name, Input: []*inference.ModelInput{{Name: "IN", DataType: inference.DataType_TYPE_UINT8, Dims: []int64{1}}}}
	for _, o := range outputs {
		cfg.Output = append(cfg.Output, &inference.ModelOutput{Name: o.Name, DataType: oip.DataType(o.Datatype), Dims: o.Shape})
	}
	return Model{Config: cfg, Run: func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		resp := &inference.ModelInferResponse{}
		for _, o := range outputs {
			oip.AddOutput(resp, o)
		}
		return resp, nil
	}}
}

// Classifier is a model like the default one. It calls an image by its bytes;
// "broken" and "text" are images that it refuses, and "boom" makes it panic.
// It reports steps as the ensemble does.
func Classifier(name string) Model {
	return Model{
		Config: &inference.ModelConfig{
			Name: name, Platform: "ensemble", MaxBatchSize: 16,
			Input: []*inference.ModelInput{{Name: "IMAGE", DataType: inference.DataType_TYPE_STRING, Dims: []int64{1}}},
			Output: []*inference.ModelOutput{
				{Name: "LABEL", DataType: inference.DataType_TYPE_STRING, Dims: []int64{5}},
				{Name: "SCORE", DataType: inference.DataType_TYPE_FP32, Dims: []int64{5}},
				{Name: "CLASS", DataType: inference.DataType_TYPE_INT32, Dims: []int64{5}},
			},
		},
		Run: classify,
	}
}

func classify(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	in, _ := oip.Input(req, "IMAGE")
	images, err := oip.Strings(in.Data, 1)
	if err != nil {
		return nil, err
	}
	switch string(images[0]) {
	case "broken":
		return nil, failure.New(failure.BrokenImage, "the image is truncated")
	case "text":
		return nil, failure.New(failure.UnsupportedMedia, "this is not an image")
	case "down":
		return nil, failure.New(failure.Unavailable, "predictor is not available")
	case "boom":
		images = images[:len(images)+1] // panics
	}
	k, err := oip.IntParameter(req.GetParameters(), "top_k", 5)
	if err != nil {
		return nil, err
	}
	for _, s := range []pipeline.StepTiming{
		{Model: "pre", Backend: "image", Queue: 1 * time.Millisecond, Compute: 9 * time.Millisecond},
		{Model: "net", Backend: "onnxruntime", Queue: 2 * time.Millisecond, Compute: 30 * time.Millisecond},
		{Model: "post", Backend: "classification", Compute: 500 * time.Microsecond},
	} {
		pipeline.Record(ctx, s)
	}
	resp := &inference.ModelInferResponse{}
	labels := make([][]byte, k)
	for i := range labels {
		labels[i] = images[0]
	}
	shape := []int64{1, k}
	oip.AddOutput(resp, oip.Tensor{Name: "LABEL", Datatype: oip.Bytes, Shape: shape, Data: oip.JoinStrings(labels...)})
	oip.AddOutput(resp, oip.Tensor{Name: "SCORE", Datatype: "FP32", Shape: shape, Data: make([]byte, 4*k)})
	oip.AddOutput(resp, oip.Tensor{Name: "CLASS", Datatype: "INT32", Shape: shape, Data: make([]byte, 4*k)})
	return resp, nil
}
