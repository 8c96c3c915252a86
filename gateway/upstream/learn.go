package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

// refreshRounds is after how many rounds a configuration is asked for again though
// nothing seems to have changed: a version may have been loaded anew, with another
// configuration, by somebody else. Each round takes its part of them: the fewer
// there are, the sooner a change is seen.
func refreshRounds(configurations int) int { return min(max(configurations/configsAtOnce, 3), 30) }

// configTimeout bounds one question for a configuration, askTimeout all of one
// round. What is not answered by then is asked for again in the next.
const configTimeout = time.Second

// configsAtOnce bounds how many configurations a replica is asked for side by side.
const configsAtOnce = 8

// key names one version of a model.
type key struct{ name, version string }

// lesson is what one round learns of a replica's configurations.
type lesson struct {
	mu      sync.Mutex
	configs map[key]*inference.ModelConfig
	missed  map[key]bool
}

// learn takes an index over, and asks for the configuration of each version that
// has become ready, that is due, or, with all, that is ready.
func (r *replica) learn(ctx context.Context, index []*inference.RepositoryIndexResponse_ModelIndex, all bool) {
	l := &lesson{configs: make(map[key]*inference.ModelConfig, len(index)), missed: map[key]bool{}}
	var due []*inference.RepositoryIndexResponse_ModelIndex
	every := refreshRounds(len(index))
	for i, m := range index {
		if m.GetState() != string(modelserver.Ready) {
			continue
		}
		k := key{m.GetName(), m.GetVersion()}
		known := r.configs[k]
		if all || known == nil || r.missed[k] || i%every == r.rounds%every {
			due = append(due, m)
		}
		if known != nil {
			l.configs[k] = known
		}
	}
	r.askConfigs(ctx, due, l)
	r.index, r.configs, r.missed = index, l.configs, l.missed
	r.rounds++
}

// askConfigs asks for configurations, in any order: so that, of those that take
// long, not the same keep the others from being asked each time.
func (r *replica) askConfigs(ctx context.Context, due []*inference.RepositoryIndexResponse_ModelIndex, l *lesson) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	next := make(chan *inference.RepositoryIndexResponse_ModelIndex)
	var asking sync.WaitGroup
	for range min(configsAtOnce, len(due)) {
		asking.Go(func() {
			for m := range next {
				r.askConfig(ctx, m, l)
			}
		})
	}
	for _, m := range due {
		next <- m
	}
	close(next)
	asking.Wait()
}

// askConfig asks for one. A failure leaves what was known.
func (r *replica) askConfig(ctx context.Context, m *inference.RepositoryIndexResponse_ModelIndex, l *lesson) {
	ctx, cancel := context.WithTimeout(ctx, configTimeout)
	defer cancel()
	k := key{m.GetName(), m.GetVersion()}
	resp, err := r.client.ModelConfig(ctx, &inference.ModelConfigRequest{Name: k.name, Version: k.version})
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case unloadedMeanwhile(err):
		m.State = string(modelserver.Unavailable)
		delete(l.configs, k)
	case err != nil:
		l.missed[k] = true
	case !proto.Equal(l.configs[k], resp.GetConfig()): // else one copy, however often it is asked for
		l.configs[k] = resp.GetConfig()
	}
}

// unloadedMeanwhile tells whether a replica that answers refuses a version that it
// listed a moment ago. Its own words have no cause.
func unloadedMeanwhile(err error) bool {
	var f *failure.Error
	if err == nil || !errors.As(failure.FromStatus(err, ""), &f) || f.Cause != nil {
		return false
	}
	return f.Kind == failure.Unavailable || f.Kind == failure.NotFound
}
