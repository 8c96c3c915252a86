// Package otlp receives traces as a collector does, and counts them without reading
// or keeping any: what tracing costs the services is to be measured, and what becomes
// of traces happens elsewhere.
package otlp

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
)

// Receiver takes in what services export. Safe for concurrent use.
type Receiver struct {
	// Address is where it listens.
	Address string
	server  *grpc.Server
	done    chan struct{}
	spans   atomic.Int64
}

// Start listens on a free port of loopback. Stop the receiver.
func Start(ctx context.Context) (*Receiver, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("receive traces: %w", err)
	}
	r := &Receiver{Address: listener.Addr().String(), done: make(chan struct{})}
	r.server = grpc.NewServer(grpc.ForceServerCodecV2(wire{}), grpc.UnknownServiceHandler(r.export))
	go func() {
		defer close(r.done)
		_ = r.server.Serve(listener) // an early end shows as spans that are missing
	}()
	return r, nil
}

// export answers the one method that exporters call, Export of the trace service.
func (r *Receiver) export(_ any, stream grpc.ServerStream) error {
	var n spans
	if err := stream.RecvMsg(&n); err != nil {
		return err
	}
	r.spans.Add(int64(n))
	return stream.SendMsg(nil)
}

// Spans is how many have come.
func (r *Receiver) Spans() int64 { return r.spans.Load() }

// Stop ends the listening. Call it once.
func (r *Receiver) Stop() {
	r.server.Stop()
	<-r.done
}
