package classify

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// The outputs of a model that classifies images.
const (
	labelOutput = "LABEL"
	scoreOutput = "SCORE"
	classOutput = "CLASS"
)

// model is how one image is sent to a model.
type model struct {
	name  string
	input string
	// shape is the wire shape of one image.
	shape []int64
}

const (
	// knownFor is how long a model's metadata is believed: a model that was
	// loaded anew with other tensors is noticed that late.
	knownFor = 2 * time.Second
	// maxKnown bounds the models that are known; beyond it all are forgotten.
	maxKnown = 64
)

// models finds out what models look like, and remembers it for a while. Safe for
// concurrent use.
type models struct {
	server inference.GRPCInferenceServiceServer
	mu     sync.Mutex
	known  map[string]entry
}

type entry struct {
	model *model
	until time.Time
}

func newModels(server inference.GRPCInferenceServiceServer) *models {
	return &models{server: server, known: map[string]entry{}}
}

func (m *models) get(ctx context.Context, name string) (*model, error) {
	m.mu.Lock()
	e, ok := m.known[name]
	m.mu.Unlock()
	if ok && time.Now().Before(e.until) {
		return e.model, nil
	}
	if name == "" {
		return nil, failure.New(failure.Invalid, "the model's name is empty")
	}
	metadata, err := m.server.ModelMetadata(ctx, &inference.ModelMetadataRequest{Name: name})
	if err != nil {
		return nil, web.Failure(err)
	}
	found, err := modelOf(name, metadata)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxKnown {
		clear(m.known)
	}
	m.known[name] = entry{found, time.Now().Add(knownFor)}
	return found, nil
}

func (m *models) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, name)
}

// modelOf checks that a model takes one image and gives classes.
func modelOf(name string, metadata *inference.ModelMetadataResponse) (*model, error) {
	notOne := func(why string) (*model, error) {
		return nil, failure.New(failure.Invalid, "model %s does not classify images: %s", strconv.Quote(name), why)
	}
	if len(metadata.GetInputs()) != 1 {
		return notOne("it does not have one input")
	}
	in := metadata.GetInputs()[0]
	if in.GetDatatype() != oip.Bytes {
		return notOne("its input is " + in.GetDatatype() + ", not BYTES")
	}
	shape := slices.Clone(in.GetShape())
	for i, d := range shape {
		if d < 0 {
			shape[i] = 1 // the batch, or a number of images that the caller chooses
		}
	}
	if n, err := oip.Elements(shape); err != nil || n != 1 {
		return notOne("its input is not one image but " + oip.FormatShape(in.GetShape()))
	}
	for _, want := range []string{labelOutput, scoreOutput, classOutput} {
		if !slices.ContainsFunc(metadata.GetOutputs(), func(o *inference.ModelMetadataResponse_TensorMetadata) bool { return o.GetName() == want }) {
			return notOne("it has no output " + want)
		}
	}
	return &model{name: name, input: in.GetName(), shape: shape}, nil
}
