package main_test

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/rpc"
	"triptych/shared/testkit"
)

// model is asked for tensors, input is where it takes files.
const (
	model = "imagenet_preprocess"
	input = "IMAGE"
	mega  = 1 << 20
)

// service is the program as a process of its own.
type service struct {
	process *exec.Cmd
	client  inference.GRPCInferenceServiceClient
}

// start runs the service until the test ends. Both must go well.
func start(t *testing.T, flags ...string) *service {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	address := testkit.FreeAddress(t)
	flags = append([]string{"--grpc-address", address, "--admin-address", testkit.FreeAddress(t), "--model-repository", testkit.Path(t, "models")}, flags...)
	s := &service{process: exec.Command(binary, flags...)}
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := s.process.Wait(); err != nil {
			t.Errorf("the service ended badly: %v", err)
		}
	})
	conn, err := rpc.Dial(address, rpc.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // nothing is under way
	s.client = inference.NewGRPCInferenceServiceClient(conn)
	testkit.Eventually(t, time.Minute, "a service that is ready", func() bool {
		answer, err := s.client.ModelReady(t.Context(), &inference.ModelReadyRequest{Name: model})
		return err == nil && answer.GetReady()
	})
	return s
}

// request asks the model for the tensors of images.
func request(images ...[]byte) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{ModelName: model}
	oip.AddInput(req, oip.Tensor{
		Name: input, Datatype: oip.Bytes, Shape: []int64{int64(len(images)), 1}, Data: oip.JoinStrings(images...),
	})
	return req
}

// ask sends images, which are to become tensors.
func (s *service) ask(t *testing.T, images ...[]byte) error {
	t.Helper()
	resp, err := s.client.ModelInfer(t.Context(), request(images...))
	if err == nil && len(resp.GetRawOutputContents()[0]) != len(images)*224*224*3 {
		t.Errorf("the tensor has %d bytes", len(resp.GetRawOutputContents()[0]))
	}
	return failure.FromStatus(err, "preprocess")
}
