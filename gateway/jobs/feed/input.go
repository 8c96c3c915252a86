package feed

import (
	"context"
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// lengthBytes is what stands before an element of a BYTES tensor: its length.
const lengthBytes = 4

// pool is the request that an item stands for. Its bytes are its own.
func (t *term) pool(ctx context.Context, record *pb.Job, item *pb.Item) (*inference.ModelInferRequest, error) {
	switch in := item.GetInput().(type) {
	case *pb.Item_Image:
		return imageRequest(record, oip.JoinStrings(in.Image)), nil
	case *pb.Item_Blob:
		data, err := t.store.Connection().GetBlob(ctx, in.Blob, lengthBytes)
		if err != nil {
			return nil, err
		}
		binary.LittleEndian.PutUint32(data, uint32(len(data)-lengthBytes))
		return imageRequest(record, data), nil
	case *pb.Item_Request:
		return wholeRequest(record, in.Request), nil
	case *pb.Item_RequestBlob:
		data, err := t.store.Connection().GetBlob(ctx, in.RequestBlob, 0)
		if err != nil {
			return nil, err
		}
		req := &inference.ModelInferRequest{}
		if err := proto.Unmarshal(data, req); err != nil {
			return nil, failure.Wrap(err, failure.Invalid, "the stored request can't be read")
		}
		return wholeRequest(record, req), nil
	default:
		return nil, failure.New(failure.Invalid, "the item has no input")
	}
}

// imageRequest is the request of one image, as an element of BYTES.
func imageRequest(record *pb.Job, element []byte) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{Parameters: record.GetParameters()}
	for _, name := range record.GetOutputs() {
		req.Outputs = append(req.Outputs, &inference.ModelInferRequest_InferRequestedOutputTensor{Name: name})
	}
	oip.AddInput(req, oip.Tensor{Name: record.GetInput(), Datatype: "BYTES", Shape: record.GetShape(), Data: element})
	return req
}

// wholeRequest is a whole request that was stored. What it does not say of parameters
// and outputs the job may.
func wholeRequest(record *pb.Job, req *inference.ModelInferRequest) *inference.ModelInferRequest {
	if len(req.GetParameters()) == 0 {
		req.Parameters = record.GetParameters()
	}
	if len(req.GetOutputs()) == 0 {
		for _, name := range record.GetOutputs() {
			req.Outputs = append(req.Outputs, &inference.ModelInferRequest_InferRequestedOutputTensor{Name: name})
		}
	}
	return req
}
