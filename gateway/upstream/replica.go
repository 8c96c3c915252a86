package upstream

import (
	"context"

	"google.golang.org/grpc"

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
	// index is the last answer; a replica that is away is remembered by it.
	index []*inference.RepositoryIndexResponse_ModelIndex
	// configs are those of the versions that were ready at the last answer.
	configs map[key]*inference.ModelConfig
}

// report is what one replica answered, or, with err, what it had answered last.
type report struct {
	pool    *pool
	address string
	index   []*inference.RepositoryIndexResponse_ModelIndex
	configs map[key]*inference.ModelConfig
	err     error
}

func (r *replica) ask(ctx context.Context, p *pool) report {
	resp, err := r.client.RepositoryIndex(ctx, &inference.RepositoryIndexRequest{})
	if err == nil {
		err = r.learn(ctx, resp.GetModels())
	}
	return report{pool: p, address: r.address, index: r.index, configs: r.configs, err: failure.FromStatus(err, p.name)}
}

// learn fetches the configuration of each version that has become ready, and
// forgets those that are not: a version that comes back may have another.
func (r *replica) learn(ctx context.Context, index []*inference.RepositoryIndexResponse_ModelIndex) error {
	configs := make(map[key]*inference.ModelConfig, len(index))
	for _, m := range index {
		if m.GetState() != string(modelserver.Ready) {
			continue
		}
		k := key{m.GetName(), m.GetVersion()}
		if known := r.configs[k]; known != nil {
			configs[k] = known
			continue
		}
		resp, err := r.client.ModelConfig(ctx, &inference.ModelConfigRequest{Name: k.name, Version: k.version})
		if err != nil {
			return err
		}
		configs[k] = resp.GetConfig()
	}
	r.index, r.configs = index, configs
	return nil
}
