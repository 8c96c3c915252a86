package soak

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"triptych/loadtest/bench/album"
	"triptych/loadtest/bench/answers"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/target"
	"triptych/proto/inference"
	"triptych/shared/oip"
)

const (
	// badOne is one bad image in so many.
	badOne = 100
	// patience bounds one request.
	patience = 30 * time.Second
	// connections are those of the generator.
	connections = 2
	// refusal is what a bad image is answered with: HTTP's 4xx.
	refusal = "gRPC INVALID_ARGUMENT"
)

// mixture is photographs with a bad image among them now and then. It counts what is
// sent, and takes the refusal of a bad image for the right answer.
type mixture struct {
	target.Target
	photographs int
	items       int
	sent        atomic.Int64
	rejected    atomic.Int64
}

// makeMixture learns the right answers of both versions' files, and leaves that of
// float32 in service.
func (b *runner) makeMixture(ctx context.Context) (*mixture, error) {
	photographs, err := album.Make(ctx, b.Samples, b.Photographs)
	if err != nil {
		return nil, err
	}
	key := answers.New(photographs)
	b.probe = answers.Request(model, photographs[0])
	gateway := b.stack.Gateway.Server()
	for range 2 {
		if err := key.Learn(ctx, gateway.Infer, model); err != nil {
			return nil, err
		}
		if err := b.swap(ctx); err != nil {
			return nil, err
		}
	}
	bad := badImages(photographs[0])
	m := &mixture{photographs: len(photographs), items: badOne * len(bad)}
	good, tensors := key.Tensors(), make([]oip.Tensor, m.items)
	for n := range tensors {
		if m.bad(n) {
			tensors[n] = answers.Tensor(bad[n/badOne])
		} else {
			tensors[n] = good[m.photograph(n)]
		}
	}
	m.Target, err = target.NewTensors(target.Options{Protocol: target.GRPC, URL: gateway.Address, Model: model, Connections: connections}, tensors, func(n int, resp *inference.ModelInferResponse) error {
		if m.bad(n) {
			return &measure.Fault{Kind: measure.WrongAnswer, Message: "a bad image was classified"}
		}
		return key.Check(m.photograph(n), resp)
	})
	return m, err
}

// badImages are what users send by mistake.
func badImages(photograph []byte) [][]byte {
	half := photograph[:len(photograph)/2]
	return [][]byte{half, []byte("This is no image."), {}, append([]byte("\x89PNG\r\n\x1a\n"), half...)}
}

func (m *mixture) bad(n int) bool { return n%badOne == badOne-1 }

// photograph is the one that item n has.
func (m *mixture) photograph(n int) int { return (n - n/badOne) % m.photographs }

var _ load.Target = (*mixture)(nil)

// Do sends item n.
func (m *mixture) Do(ctx context.Context, n int) (measure.Answer, error) {
	m.sent.Add(1)
	answer, err := m.Target.Do(ctx, n)
	if err != nil && m.bad(n) && strings.HasPrefix(measure.FaultOf(err).Kind, refusal) {
		m.rejected.Add(1)
		return measure.Answer{}, nil
	}
	return answer, err
}
