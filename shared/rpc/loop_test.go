package rpc_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"triptych/proto/inference"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
)

// BenchmarkHop is a tensor of 224x224x3 to a server and back, by 16 callers, and the
// CPU that both ends take for it.
func BenchmarkHop(b *testing.B) {
	answer := make([]byte, 224*224*3)
	server := newServer("127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), func(_ context.Context, req *request) (*response, error) {
		return &response{Id: req.GetId(), RawOutputContents: [][]byte{answer}}, nil
	})
	if err := server.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Stop(context.WithoutCancel(b.Context())) }()
	conn, err := rpc.Dial(server.Address(), rpc.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	client := inference.NewGRPCInferenceServiceClient(conn)
	req := &request{ModelName: "m", RawInputContents: [][]byte{make([]byte, len(answer))}}
	b.ReportAllocs()
	b.SetBytes(int64(2 * len(answer)))
	begin := cpu()
	b.ResetTimer()
	var callers sync.WaitGroup
	calls := make(chan struct{}, b.N)
	for range b.N {
		calls <- struct{}{}
	}
	close(calls)
	for range 16 {
		callers.Go(func() {
			for range calls {
				if _, err := client.ModelInfer(b.Context(), req); err != nil {
					b.Error(err)
				}
			}
		})
	}
	callers.Wait()
	b.ReportMetric((cpu()-begin).Seconds()*1e6/float64(b.N), "cpu-us/op")
}

// cpu is what the process has taken so far.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
