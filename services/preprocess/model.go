package preprocess

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"

	"triptych/proto/inference"
	"triptych/services/preprocess/decode"
	"triptych/shared/capacity"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

// model is one loaded version. It has no state but counters.
type model struct {
	backend *Backend
	plan    *plan
	pending atomic.Int64
}

var (
	_ modelserver.TimedModel     = (*model)(nil)
	_ modelserver.Describer      = (*model)(nil)
	_ modelserver.PendingCounter = (*model)(nil)
	_ modelserver.Reporter       = (*model)(nil)
)

// Infer is InferTimed without the times.
func (m *model) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	resp, _, err := m.InferTimed(ctx, req)
	return resp, err
}

// InferTimed decodes and transforms the images of a request, in parallel as far
// as they are let in. One bad image fails the request; in a batch, the message
// names its index.
func (m *model) InferTimed(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	images, err := m.images(req)
	if err != nil {
		return nil, modelserver.Timing{}, err
	}
	j, err := m.begin(ctx, images)
	if err != nil {
		return nil, modelserver.Timing{}, err
	}
	defer j.end()
	timing, err := j.run(ctx)
	if err != nil {
		return nil, timing, err
	}
	shape := m.plan.shape
	if m.plan.batched {
		shape = append(append(make([]int64, 0, 1+len(shape)), int64(len(images))), shape...)
	}
	resp := &inference.ModelInferResponse{}
	oip.AddOutput(resp, oip.Tensor{Name: m.plan.output, Datatype: m.plan.datatype, Shape: shape, Data: j.out})
	m.plan.beside.add(req, resp, m.plan.batched, images)
	return resp, timing, nil
}

// Properties tell how images are read in this build.
func (m *model) Properties() map[string]string {
	p := map[string]string{
		"max_bytes":  strconv.FormatInt(m.plan.decode.Limits.Bytes, 10),
		"max_pixels": strconv.FormatInt(m.plan.decode.Limits.Pixels, 10),
		"max_width":  strconv.FormatInt(m.plan.decode.Limits.Width, 10),
		"max_height": strconv.FormatInt(m.plan.decode.Limits.Height, 10),
	}
	maps.Copy(p, m.plan.properties)
	for format, decoder := range decode.Decoders() {
		p[strings.ToLower(string(format))+"_decoder"] = decoder
	}
	return p
}

// Pending is how many requests wait until their first image is let in.
func (m *model) Pending() int { return int(m.pending.Load()) }

// Capacity is how many images are worked on at once, and what waits for that: of all
// models together, for they share the workers.
func (m *model) Capacity() capacity.Report { return m.backend.queue.Capacity() }

// Close has nothing to free.
func (m *model) Close() error { return nil }
