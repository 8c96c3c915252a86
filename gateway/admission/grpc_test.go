package admission_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

// slow is a server whose models wait until they are let go.
type slow struct {
	inference.UnimplementedGRPCInferenceServiceServer
	arrived chan string // ids of requests, as they come
	open    chan struct{}
	answer  int // bytes
}

func newSlow(answer int) *slow {
	return &slow{arrived: make(chan string, 100), open: make(chan struct{}), answer: answer}
}

func (s *slow) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	s.arrived <- req.GetId()
	select {
	case <-s.open:
		return &inference.ModelInferResponse{Id: req.GetId(), RawOutputContents: [][]byte{make([]byte, s.answer)}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *slow) RepositoryModelLoad(context.Context, *inference.RepositoryModelLoadRequest) (*inference.RepositoryModelLoadResponse, error) {
	return &inference.RepositoryModelLoadResponse{}, nil
}

func (s *slow) ServerLive(context.Context, *inference.ServerLiveRequest) (*inference.ServerLiveResponse, error) {
	return &inference.ServerLiveResponse{Live: true}, nil
}

func request(id string, bytes int) *inference.ModelInferRequest {
	return &inference.ModelInferRequest{Id: id, RawInputContents: [][]byte{make([]byte, bytes)}}
}

func TestModelInferIsAdmitted(t *testing.T) {
	room, _ := makeRoom(t, 10_000, 2)
	next := newSlow(1)
	server := room.Server(next)
	ended := make(chan error, 2)
	infer := func(bytes int) {
		go func() {
			_, err := server.ModelInfer(t.Context(), request("", bytes))
			ended <- err
		}()
		<-next.arrived
	}
	infer(6000)
	_, err := server.ModelInfer(t.Context(), request("", 5000))
	wantKind(t, err, failure.Busy)
	_, err = server.ModelInfer(t.Context(), request("", 20_000))
	wantKind(t, err, failure.TooLarge)
	load := &inference.RepositoryModelLoadRequest{Parameters: map[string]*inference.ModelRepositoryParameter{
		"file:1/model": {ParameterChoice: &inference.ModelRepositoryParameter_BytesParam{BytesParam: make([]byte, 5000)}},
	}}
	_, err = server.RepositoryModelLoad(t.Context(), load)
	wantKind(t, err, failure.Busy)
	infer(3000)
	_, err = server.ModelInfer(t.Context(), request("", 1))
	wantKind(t, err, failure.Busy)
	if live, err := server.ServerLive(t.Context(), &inference.ServerLiveRequest{}); err != nil || !live.GetLive() {
		t.Errorf("a probe while full: %v", err)
	}
	close(next.open)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if _, err := server.RepositoryModelLoad(t.Context(), load); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

// Every kind of contents takes the memory of its elements.
func TestBytesOfARequest(t *testing.T) {
	contents := map[string]*inference.InferTensorContents{
		"bool": {BoolContents: make([]bool, 800)}, "int": {IntContents: make([]int32, 200)}, "int64": {Int64Contents: make([]int64, 100)},
		"uint": {UintContents: make([]uint32, 200)}, "uint64": {Uint64Contents: make([]uint64, 100)}, "fp32": {Fp32Contents: make([]float32, 200)},
		"fp64": {Fp64Contents: make([]float64, 100)}, "bytes": {BytesContents: [][]byte{make([]byte, 752), {}}},
	}
	for name, c := range contents {
		t.Run(name, func(t *testing.T) {
			for most, want := range map[int64]bool{800: true, 799: false} {
				room, _ := makeRoom(t, most, 1)
				next := newSlow(1)
				close(next.open)
				_, err := room.Server(next).ModelInfer(t.Context(), &inference.ModelInferRequest{
					Inputs: []*inference.ModelInferRequest_InferInputTensor{{Contents: c}},
				})
				if (err == nil) != want {
					t.Errorf("of %d bytes: %v", most, err)
				}
			}
		})
	}
}

// stream opens a stream to a server of its own.
func stream(ctx context.Context, t *testing.T, server inference.GRPCInferenceServiceServer) inference.GRPCInferenceService_ModelStreamInferClient {
	t.Helper()
	const most = 64 << 20
	s := grpc.NewServer(grpc.MaxRecvMsgSize(most), grpc.MaxSendMsgSize(most))
	inference.RegisterGRPCInferenceServiceServer(s, server)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(most), grpc.MaxCallSendMsgSize(most)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	client, err := inference.NewGRPCInferenceServiceClient(conn).ModelStreamInfer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A request of a stream that has no room is answered so, in its turn.
func TestStreamIsAdmitted(t *testing.T) {
	room, registry := makeRoom(t, 1<<20, 1)
	next := newSlow(1)
	client := stream(t.Context(), t, room.Server(next))
	send := func(id string) {
		if err := client.Send(request(id, 10)); err != nil {
			t.Fatal(err)
		}
	}
	receive := func(id, message string) {
		t.Helper()
		answer, err := client.Recv()
		if err != nil || answer.GetInferResponse().GetId() != id || !strings.Contains(answer.GetErrorMessage(), message) || message == "" && answer.GetErrorMessage() != "" {
			t.Errorf("got %v, %v, want %s %q", answer, err, id, message)
		}
	}
	send("first")
	<-next.arrived
	send("second")
	testkit.Eventually(t, time.Minute, "the second is refused", func() bool {
		return metric(t, registry, "triptych_admission_refused_total", 1) > 0 // by gRPC, for requests
	})
	close(next.open)
	receive("first", "")
	receive("second", "1 requests are in flight")
	send("third")
	receive("third", "")
}

// TestStreamHoldsLittle: what a stream has not answered is bounded in bytes, of
// requests and of answers that wait for their turn. It goes on as they leave.
func TestStreamHoldsLittle(t *testing.T) {
	const mib, count = 1 << 20, 16
	for name, tt := range map[string]struct{ request, answer int }{"requests": {4 * mib, 1}, "answers": {1, 4 * mib}} {
		t.Run(name, func(t *testing.T) {
			room, _ := makeRoom(t, 1<<30, 1000)
			next := &firstWaits{slow: newSlow(tt.answer), first: make(chan struct{}), answered: make(chan struct{}, count)}
			client := stream(t.Context(), t, room.Server(next))
			if name == "answers" {
				close(next.open)
			}
			go func() {
				for i := range count {
					if client.Send(request(strconv.Itoa(i), tt.request)) != nil {
						return
					}
					if i > 0 && name == "answers" { // an answer counts once it is there
						<-next.answered
					}
				}
				_ = client.CloseSend()
			}()
			// Nothing can leave, so from then on nothing more comes.
			testkit.Eventually(t, time.Minute, "the stream is full", func() bool { return len(next.arrived) >= 8 })
			time.Sleep(200 * time.Millisecond)
			if got := len(next.arrived); got > 11 {
				t.Errorf("%d requests are held", got)
			}
			close(next.first)
			if name == "requests" {
				close(next.open)
			}
			for i := range count {
				answer, err := client.Recv()
				if err != nil || answer.GetInferResponse().GetId() != strconv.Itoa(i) {
					t.Fatalf("answer %d is %v, %v", i, answer.GetInferResponse().GetId(), err)
				}
			}
		})
	}
}

// firstWaits has the answer to the first request of a stream wait.
type firstWaits struct {
	*slow
	first    chan struct{}
	answered chan struct{}
}

func (s *firstWaits) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	resp, err := s.slow.ModelInfer(ctx, req)
	if req.GetId() == "0" {
		<-s.first
		return resp, err
	}
	s.answered <- struct{}{}
	return resp, err
}

// A caller that goes away while the stream is full leaves nothing behind.
func TestCallerOfAFullStreamGoes(t *testing.T) {
	room, registry := makeRoom(t, 1<<30, 1000)
	next := newSlow(1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := stream(ctx, t, room.Server(next))
	for i := range 2 {
		if err := client.Send(request(strconv.Itoa(i), 20<<20)); err != nil {
			t.Fatal(err)
		}
		<-next.arrived
	}
	cancel()
	testkit.Eventually(t, time.Minute, "nothing is in flight", func() bool {
		return metric(t, registry, "triptych_admission_requests_in_flight", 0) == 0 // by gRPC
	})
}

// metric is the value of one of a metric's series, in the order of their labels.
func metric(t *testing.T, registry *prometheus.Registry, name string, index int) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[index]
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
