package target

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"triptych/loadtest/measure"
	"triptych/loadtest/sample"
	"triptych/proto/inference"
	"triptych/shared/call"
	"triptych/shared/config"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// comeBack is how long a server that has come back may have to wait for the next
// try to connect, where gRPC's own default would be two minutes.
const comeBack = time.Second

// grpcTarget sends ModelInfer over a few connections, in turn.
type grpcTarget struct {
	conns    []*grpc.ClientConn
	requests [][]byte
	metadata metadata.MD // nil for none
	read     reader
	next     atomic.Uint64
}

// reader takes the labels, if there are any, from the answer to request n.
type reader func(n int, resp *inference.ModelInferResponse) ([]string, error)

func newGRPCImages(o Options, images []sample.Image) (*grpcTarget, error) {
	requests := make([][]byte, len(images))
	for i, image := range images {
		var err error
		if requests[i], err = encodeRequest(o, image); err != nil {
			return nil, err
		}
	}
	return newGRPC(o, requests, func(_ int, resp *inference.ModelInferResponse) ([]string, error) {
		tensor, ok := oip.Output(resp, o.Output)
		if !ok {
			return nil, bad("the answer has no raw output " + o.Output)
		}
		return decodeLabels(tensor.Shape, tensor.Data)
	})
}

func newGRPC(o Options, requests [][]byte, read reader) (*grpcTarget, error) {
	t := &grpcTarget{requests: requests, metadata: o.metadata(), read: read}
	for range o.Connections {
		conn, err := grpc.NewClient(Address(o),
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: comeBack / 10, Multiplier: 1.6, Jitter: 0.2, MaxDelay: comeBack}, MinConnectTimeout: 5 * comeBack}),
			grpc.WithNoProxy(), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(maxAnswer)))
		if err != nil {
			return nil, failure.Wrap(errors.Join(err, t.Close()), failure.Invalid, "--url is %q, must be like %s", o.URL, config.GRPCAddress)
		}
		t.conns = append(t.conns, conn)
	}
	return t, nil
}

func encodeRequest(o Options, image sample.Image) ([]byte, error) {
	req := &inference.ModelInferRequest{
		ModelName: o.Model, ModelVersion: o.Version, Parameters: o.grpcParameters(),
		Outputs: []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: o.Output}},
	}
	oip.AddInput(req, oip.Tensor{Name: o.Input, Datatype: oip.Bytes, Shape: []int64{1, 1}, Data: oip.JoinStrings(image.Data)})
	return proto.Marshal(req)
}

// metadata is what goes with each call, or nil.
func (o Options) metadata() metadata.MD {
	if len(o.Headers) == 0 && o.Tenant == "" {
		return nil
	}
	md := metadata.New(o.Headers)
	if o.Tenant != "" {
		md.Set(call.TenantHeader, o.Tenant)
	}
	return md
}

// grpcParameters are the parameters as gRPC has them.
func (o Options) grpcParameters() oip.Parameters {
	parameters := oip.Parameters{}
	for name, value := range o.parameters() {
		parameters[name] = &inference.InferParameter{ParameterChoice: &inference.InferParameter_Uint64Param{Uint64Param: value}}
	}
	return parameters
}

// Close ends the connections.
func (t *grpcTarget) Close() error {
	errs := make([]error, 0, len(t.conns))
	for _, conn := range t.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// Do sends image or tensor n.
func (t *grpcTarget) Do(ctx context.Context, n int) (measure.Answer, error) {
	conn := t.conns[t.next.Add(1)%uint64(len(t.conns))]
	if t.metadata != nil {
		ctx = metadata.NewOutgoingContext(ctx, t.metadata)
	}
	var got reply
	if err := conn.Invoke(ctx, inference.GRPCInferenceService_ModelInfer_FullMethodName, encoded(t.requests[n]), &got); err != nil {
		return measure.Answer{}, grpcFault(err, conn.GetState())
	}
	labels, err := t.read(n, &got.message)
	if err != nil {
		return measure.Answer{}, err
	}
	return measure.Answer{Labels: labels, Sent: len(t.requests[n]), Received: got.size}, nil
}

// grpcFault names the code, and the reason that our own servers add to it. The state
// is that of the connection after the call.
func grpcFault(err error, state connectivity.State) *measure.Fault {
	s := status.Convert(err)
	name := code.Code(s.Code()).String()
	f := &measure.Fault{
		Kind: "gRPC " + shorten(name), Message: s.Message(),
		Unreached: unreachedCall(s.Code(), state), Permanent: permanentCall(err),
	}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetReason() != name {
			f.Kind += " " + shorten(info.GetReason())
			break
		}
	}
	return f
}
