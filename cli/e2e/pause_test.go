package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/status"

	"triptych/cli/e2e/process"
	"triptych/proto/inference"
	"triptych/shared/oip"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

const model = "imagenet_preprocess"

// images asks for one image after the other, from several callers at once.
type images struct {
	t       *testing.T
	client  inference.GRPCInferenceServiceClient
	image   []byte
	ok      atomic.Int64
	slowest atomic.Int64 // nanoseconds, since it was last set to 0
}

func newImages(t *testing.T, address string) *images {
	t.Helper()
	image, err := os.ReadFile(testkit.Path(t, "testdata", "images", "coffee.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	i := &images{t: t, client: servertest.Client(t, address), image: image}
	crowd(t, i.call)
	return i
}

func (i *images) call() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req := &inference.ModelInferRequest{ModelName: model}
	oip.AddInput(req, oip.Tensor{Name: "IMAGE", Datatype: "BYTES", Shape: []int64{1, 1}, Data: oip.AppendString(nil, i.image)})
	begun := time.Now()
	_, err := i.client.ModelInfer(ctx, req)
	took := int64(time.Since(begun))
	for slowest := i.slowest.Load(); took > slowest && !i.slowest.CompareAndSwap(slowest, took); slowest = i.slowest.Load() {
	}
	if err != nil {
		i.t.Errorf("a call failed after %s: %s", time.Duration(took), status.Convert(err).Message())
		return
	}
	i.ok.Add(1)
}

// pause is far longer than a call may take.
const pause = 6 * time.Second

// TestPause stops one of two replicas of a stage with SIGSTOP, under load: its
// connection stays, and nothing answers. No call fails, and those that it held are
// answered by the other, soon.
func TestPause(t *testing.T) {
	programs := process.Programs(t, "gateway", "preprocess")
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, model), os.DirFS(testkit.Path(t, "models", model))); err != nil {
		t.Fatal(err)
	}
	models := []string{"--model-repository", folder}
	var replicas []*process.Process
	upstreams := ""
	for range 2 {
		address := process.Address(t)
		p := process.NewService(t, programs, "preprocess", address, models...)
		p.Start()
		replicas = append(replicas, p)
		upstreams += address + ","
	}
	front := process.Address(t)
	gateway := process.NewService(t, programs, "gateway", front, append(models, "--http-address", process.Address(t), "--upstreams", upstreams[:len(upstreams)-1])...)
	gateway.Start()
	for _, p := range append(replicas, gateway) {
		testkit.Eventually(t, 30*time.Second, "all are ready", p.Ready)
	}
	i := newImages(t, front)
	answers := func(n int64) {
		t.Helper()
		from := i.ok.Load()
		testkit.Eventually(t, 20*time.Second, "answers", func() bool { return i.ok.Load() > from+n })
	}
	answers(100)
	paused := replicas[0]
	paused.Signal(syscall.SIGSTOP)
	resumed := time.AfterFunc(pause, func() { paused.Signal(syscall.SIGCONT) })
	t.Cleanup(func() {
		resumed.Stop()
		paused.Signal(syscall.SIGCONT)
	})
	i.slowest.Store(0)
	time.Sleep(pause)
	answers(100)
	if slowest := time.Duration(i.slowest.Load()); slowest > pause/2 {
		t.Errorf("the slowest call took %s", slowest)
	}
}
