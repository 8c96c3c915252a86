package classify

import (
	"context"
	"strconv"
	"sync"
	"time"

	"triptych/gateway/classes"
	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
)

// model is how one image is sent to a model.
type model struct {
	classes.Input
	name string
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
	in, whyNot := classes.InputOf(metadata)
	if missing := classes.Missing(metadata); whyNot == "" && missing != "" {
		whyNot = "it has no output " + missing
	}
	if whyNot != "" {
		return nil, failure.New(failure.Invalid, "model %s does not classify images: %s", strconv.Quote(name), whyNot)
	}
	return &model{name: name, Input: in}, nil
}
