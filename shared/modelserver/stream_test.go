package modelserver_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/rpc"
	"triptych/shared/testkit/servertest"
)

func streamServer(t *testing.T, infer func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error)) inference.GRPCInferenceServiceClient {
	t.Helper()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig})
	server := servertest.Start(t, servertest.Options{Folders: []string{folder}}, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return servertest.Model{OnInfer: infer}, nil
	}))
	return servertest.Client(t, server.Address)
}

// TestStream sends 300 requests; the odd ones fail, each in its own way. Requests
// run side by side, answers come in order, and the stream goes on.
func TestStream(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int64
	first := make(chan struct{})
	client := streamServer(t, func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		switch id, _ := strconv.Atoi(req.GetId()); id {
		case 0:
			<-first // the first is the slowest
		case 20:
			close(first)
		}
		return failing(ctx, req)
	})
	stream, err := client.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const n = 300
	go func() {
		for i := range n {
			req := servertest.Request("m", float32(i%2), float32(i))
			req.Id = strconv.Itoa(i)
			if i%5 == 4 {
				req.ModelName = "nobody"
			}
			if err := stream.Send(req); err != nil {
				t.Error(err)
			}
		}
		if err := stream.CloseSend(); err != nil {
			t.Error(err)
		}
	}()
	for i := range n {
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		resp := answer.GetInferResponse()
		if resp.GetId() != strconv.Itoa(i) {
			t.Fatalf("answer %d has the id %s", i, resp.GetId())
		}
		want := ""
		switch {
		case i%5 == 4:
			want = `unknown model "nobody"`
		case i%2 == 1:
			want = `model "m" broke on this request`
		}
		if answer.GetErrorMessage() != want {
			t.Fatalf("answer %d says %q, want %q", i, answer.GetErrorMessage(), want)
		}
		if y := servertest.Answer(resp, "y"); want == "" && y[1] != float32(i) {
			t.Fatalf("answer %d has %v", i, y)
		}
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
	if most.Load() < 2 || most.Load() > 70 {
		t.Errorf("at most %d ran at once", most.Load())
	}
}

func TestStreamOfACallerWhoGoes(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}), make(chan struct{})
	client := streamServer(t, func(ctx context.Context, _ *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := client.ModelStreamInfer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(servertest.Request("m", 1, 2)); err != nil {
		t.Fatal(err)
	}
	<-started
	cancel()
	<-ended
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
}

// TestStreamOfALargeAnswer sends an answer above the limit of a message: gRPC ends
// the stream with an error that says so.
func TestStreamOfALargeAnswer(t *testing.T) {
	t.Parallel()
	client := streamServer(t, func(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		resp := &inference.ModelInferResponse{}
		size := 8
		if req.GetId() == "large" {
			size = rpc.DefaultMaxMessageBytes + 1
		}
		oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "FP32", Shape: []int64{1, 2}, Data: make([]byte, size)})
		return resp, nil
	})
	stream, err := client.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"small", "large"} {
		req := servertest.Request("m", 1, 2)
		req.Id = id
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if id == "small" && (err != nil || answer.GetInferResponse().GetId() != id) {
			t.Errorf("got %v, %v", answer, err)
		}
		if id == "large" && status.Code(err) != codes.ResourceExhausted {
			t.Errorf("got %v", err)
		}
	}
}
