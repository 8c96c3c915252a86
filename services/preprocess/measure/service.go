// Package measure runs the preprocess service as a process of its own, sends it
// images from many callers at once, and tells what that took: processor time and
// memory. Benchmarks and tests use it, on Linux. It judges nothing.
package measure

import (
	"context"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/rpc"
)

// Options say what to run.
type Options struct {
	// Binary is the service's program, Repository its folder with models.
	Binary, Repository string
	// Flags come after those that measure needs.
	Flags []string
	// Environ is added to this process's own.
	Environ []string
	// Logs is where the service's log goes, nil for nowhere.
	Logs *os.File
}

// Service is the preprocess service as a process of its own.
type Service struct {
	// Admin is the address of its admin port, which has profiles.
	Admin string

	command *exec.Cmd
	conn    *grpc.ClientConn
	client  inference.GRPCInferenceServiceClient
}

// startTimeout bounds how long the service takes to be ready.
const startTimeout = 30 * time.Second

// Start runs the service and waits until the model is ready. Stop ends it.
func Start(ctx context.Context, model string, options Options) (*Service, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	flags := append([]string{"--grpc-address", port, "--admin-address", admin, "--model-repository", options.Repository}, options.Flags...)
	s := &Service{Admin: admin, command: exec.CommandContext(context.WithoutCancel(ctx), options.Binary, flags...)}
	s.command.Env = append(os.Environ(), options.Environ...)
	if options.Logs != nil {
		s.command.Stderr = options.Logs
	}
	s.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.command.Start(); err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the service does not start")
	}
	s.conn, err = rpc.Dial(port, rpc.DefaultConfig())
	if err == nil {
		s.client = inference.NewGRPCInferenceServiceClient(s.conn)
		err = s.await(ctx, model)
	}
	if err != nil {
		_ = s.Stop() // what is wrong is known
		return nil, err
	}
	return s, nil
}

// freePort is a port of loopback on which nothing listened a moment ago.
func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// await asks for the model until it is ready.
func (s *Service) await(ctx context.Context, model string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	const pause = 20 * time.Millisecond
	for {
		answer, err := s.client.ModelReady(ctx, &inference.ModelReadyRequest{Name: model})
		if err == nil && answer.GetReady() {
			return nil
		}
		select {
		case <-ctx.Done():
			return failure.Wrap(err, failure.Unavailable, "the service is not ready within %s", startTimeout)
		case <-time.After(pause):
		}
	}
}

// Client calls the service.
func (s *Service) Client() inference.GRPCInferenceServiceClient { return s.client }

// Stop ends the service, which must go well.
func (s *Service) Stop() error {
	if s.conn != nil {
		_ = s.conn.Close() // nothing is under way
	}
	_ = s.command.Process.Signal(syscall.SIGTERM) // Wait tells when it has ended already
	if err := s.command.Wait(); err != nil {
		return failure.Wrap(err, failure.Internal, "the service ended badly")
	}
	return nil
}
