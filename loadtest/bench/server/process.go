// Package server starts and stops a server that is measured, and asks it what a
// load test must know: whether it is ready, what its batches were, how much
// memory it holds. It sends no load.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"triptych/proto/inference"
)

const (
	startTime = 2 * time.Minute
	stopTime  = 20 * time.Second
	poll      = 20 * time.Millisecond
)

// Server is a process and a connection to it.
type Server struct {
	// Address is that of gRPC.
	Address string
	cmd     *exec.Cmd
	ended   chan struct{}
	conn    *grpc.ClientConn
	closed  atomic.Bool
	client  inference.GRPCInferenceServiceClient
}

// Start runs a command of the shell, which must stay in the foreground and serve
// gRPC at the address, and waits for the port. What the command says goes to log.
func Start(ctx context.Context, command, address string, log io.Writer) (*Server, error) {
	// Not bound to ctx: an end must be orderly, by Stop.
	cmd := exec.Command("bash", "-c", command) //nolint:noctx // see above
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: poll, Multiplier: 1, MaxDelay: poll}}))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %q: %w", command, err), conn.Close())
	}
	s := &Server{Address: address, cmd: cmd, ended: make(chan struct{}), conn: conn, client: inference.NewGRPCInferenceServiceClient(conn)}
	go func() {
		_ = cmd.Wait() // how it ended is not what is measured
		close(s.ended)
	}()
	if err := s.await(ctx, "answer", func(ctx context.Context) bool {
		resp, err := s.client.ServerLive(ctx, &inference.ServerLiveRequest{})
		return err == nil && resp.GetLive()
	}); err != nil {
		return nil, errors.Join(fmt.Errorf("%q: %w", command, err), s.Stop())
	}
	return s, nil
}

// await polls until the server says yes, has ended or has had its time.
func (s *Server) await(ctx context.Context, what string, yes func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for !yes(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the server to %s: %w", what, ctx.Err())
		case <-s.ended:
			return errors.New("the server has ended: its log says why")
		case <-ticker.C:
		}
	}
	return nil
}

// Stop ends the process and all that it started. It may be called again.
func (s *Server) Stop() error {
	var err error
	if !s.closed.Swap(true) {
		err = s.conn.Close()
	}
	s.signal(syscall.SIGTERM)
	if !s.gone() {
		s.signal(syscall.SIGKILL)
	}
	<-s.ended
	return err
}

// gone waits for all of the group, of which a shell may be the first to end.
func (s *Server) gone() bool {
	for deadline := time.Now().Add(stopTime); time.Now().Before(deadline); time.Sleep(poll) {
		if syscall.Kill(-s.cmd.Process.Pid, 0) != nil {
			return true
		}
	}
	return false
}

// signal reaches the group of the process: a shell may stand before the server.
func (s *Server) signal(signal syscall.Signal) {
	_ = syscall.Kill(-s.cmd.Process.Pid, signal) // may be gone already
}
