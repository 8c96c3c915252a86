package upstream

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

// key names one version of a model.
type key struct{ name, version string }

// replica is one process behind a pool's name. Only the round of asking that is
// under way touches what it remembers.
type replica struct {
	address string
	conn    *grpc.ClientConn
	client  inference.GRPCInferenceServiceClient
	// member is set by the first answer: an address that never answered, such as
	// the other one of localhost, is given no orders.
	member atomic.Bool
	// index is the last answer; a replica that is away is remembered by it.
	index []*inference.RepositoryIndexResponse_ModelIndex
	// configs are those of the versions that were ready at the last answer.
	configs map[key]*inference.ModelConfig
	away    bool // at the last round, or not yet like its peers
}

// report is what one replica answered, or, with err, what it had answered last.
type report struct {
	index   []*inference.RepositoryIndexResponse_ModelIndex
	configs map[key]*inference.ModelConfig
	err     error
	joined  bool // it answers, and did not the round before
}

// ask asks for the index and, for each version that is ready, the configuration:
// a version may have been loaded anew with another, and a process be another one.
func (r *replica) ask(ctx context.Context, peer string) report {
	resp, err := r.client.RepositoryIndex(ctx, &inference.RepositoryIndexRequest{})
	if err == nil {
		err = r.learn(ctx, resp.GetModels())
	}
	if err != nil {
		r.away = true
		return report{index: r.index, err: absent(err, peer)}
	}
	joined := r.away || !r.member.Load()
	r.away = false
	r.member.Store(true)
	return report{index: r.index, configs: r.configs, joined: joined}
}

// absent is why a replica that was asked counts as away.
func absent(err error, peer string) error {
	if failure.KindOf(failure.FromStatus(err, peer)) == failure.Deadline {
		return failure.Wrap(err, failure.Unavailable, "%s does not answer", peer)
	}
	var f *failure.Error
	if errors.As(failure.FromStatus(err, peer), &f) && f.Kind != failure.Unavailable {
		return failure.Wrap(err, failure.Unavailable, "%s can't be asked: %s", peer, f.Message)
	}
	return failure.Wrap(err, failure.Unavailable, "%s is not available", peer)
}

func (r *replica) learn(ctx context.Context, index []*inference.RepositoryIndexResponse_ModelIndex) error {
	configs := make(map[key]*inference.ModelConfig, len(index))
	for _, m := range index {
		if m.GetState() != string(modelserver.Ready) {
			continue
		}
		k := key{m.GetName(), m.GetVersion()}
		resp, err := r.client.ModelConfig(ctx, &inference.ModelConfigRequest{Name: k.name, Version: k.version})
		if unloadedMeanwhile(err) {
			m.State = string(modelserver.Unavailable)
			continue
		}
		if err != nil {
			return err
		}
		configs[k] = resp.GetConfig()
		if known := r.configs[k]; proto.Equal(known, configs[k]) {
			configs[k] = known // one copy, however often it is asked for
		}
	}
	r.index, r.configs = index, configs
	return nil
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
