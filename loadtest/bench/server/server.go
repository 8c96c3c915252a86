// Package server starts and stops a server that is measured, and asks it what a
// load test must know: whether it is ready, what its batches were, how much
// memory it holds. It sends no load.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"triptych/proto/inference"
)

// Server is a process that speaks the Open Inference Protocol, and a connection to
// it.
type Server struct {
	*Process
	// Address is that of gRPC.
	Address string
	conn    *grpc.ClientConn
	closed  atomic.Bool
	client  inference.GRPCInferenceServiceClient
}

// Start runs a command of the shell, which must stay in the foreground and serve
// gRPC at the address, and waits for the port. What the command says goes to log.
func Start(ctx context.Context, command, address string, log io.Writer) (*Server, error) {
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: poll, Multiplier: 1, MaxDelay: poll}}))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	process, err := Run(command, log)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s := &Server{Process: process, Address: address, conn: conn, client: inference.NewGRPCInferenceServiceClient(conn)}
	if err := s.Await(ctx, "answer", func(ctx context.Context) bool {
		resp, err := s.client.ServerLive(ctx, &inference.ServerLiveRequest{})
		return err == nil && resp.GetLive()
	}); err != nil {
		return nil, errors.Join(fmt.Errorf("%q: %w", command, err), s.Stop())
	}
	return s, nil
}

// Stop ends the process and all that it started. It may be called again.
func (s *Server) Stop() error {
	var err error
	if !s.closed.Swap(true) {
		err = s.conn.Close()
	}
	return errors.Join(err, s.Process.Stop())
}
