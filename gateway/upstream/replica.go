package upstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"triptych/gateway/upstream/standing"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/rpc"
)

// replica is one process behind a pool's name, and the one connection to it. Only
// who asks it what it serves touches what is not atomic, and has no lock of its own.
type replica struct {
	pool    *pool
	address string
	conn    *grpc.ClientConn
	client  inference.GRPCInferenceServiceClient
	calls   atomic.Int64 // that run now
	heard   atomic.Int64 // when it last answered one, since the fleet was made

	words    atomic.Pointer[words]
	wording  sync.Mutex // of who adds one
	flights  flights
	standing *standing.Standing

	picks, returns atomic.Int64
	left           [leftReasons]atomic.Int64 // by reason

	// member is set by the first answer: an address that never answered, such as
	// the other one of localhost, is given no orders.
	member atomic.Bool
	// stale is set when what is known of configurations may be wrong.
	stale atomic.Bool
	// index is the last answer; a replica that is away is remembered by it.
	index []*inference.RepositoryIndexResponse_ModelIndex
	// configs are those of the versions that were ready at the last answer.
	configs map[key]*inference.ModelConfig
	// missed are those whose configuration could not be asked for at last.
	missed map[key]bool
	// local is our end of the connection: another end is another connection, and
	// behind it may be another process.
	local  string
	rounds int // of asking that were answered
	// away is set when it did not answer at last, or is not like its peers yet.
	away atomic.Bool

	// Only the rounds touch what follows.
	asking chan report // gets what is being asked for; nil when nothing is
	last   report
}

func newReplica(p *pool, address string) (*replica, error) {
	conn, err := rpc.Dial(address, p.config)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "upstream %q", address)
	}
	return &replica{
		pool: p, address: address, conn: conn, client: inference.NewGRPCInferenceServiceClient(conn),
		standing: standing.New(p.ejectTime),
	}, nil
}

// report is what one replica answered, or, with err, what it had answered last.
type report struct {
	replica *replica
	index   []*inference.RepositoryIndexResponse_ModelIndex
	configs map[key]*inference.ModelConfig
	err     error
	joined  bool // it answers, and did not the round before
}

// ask asks for the index and for the configurations that may have changed. Who
// says what it has is there, however long it takes over a configuration.
func (r *replica) ask(ctx context.Context) report {
	index, same, err := r.list(ctx)
	if err != nil {
		r.away.Store(true)
		return report{replica: r, index: r.index, err: absent(err, r.pool.name)}
	}
	joined := r.away.Load() || !r.member.Load()
	stale := r.stale.Swap(false)
	r.learn(ctx, index, joined || stale || !same)
	r.away.Store(false)
	r.member.Store(true)
	return report{replica: r, index: r.index, configs: r.configs, joined: joined}
}

// list asks for the index, and tells whether the connection is still that of the
// last time.
func (r *replica) list(ctx context.Context) (index []*inference.RepositoryIndexResponse_ModelIndex, same bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var at peer.Peer
	resp, err := r.client.RepositoryIndex(ctx, &inference.RepositoryIndexRequest{}, grpc.Peer(&at))
	if err != nil {
		return nil, false, err
	}
	local := ""
	if at.LocalAddr != nil {
		local = at.LocalAddr.String()
	}
	same = local == r.local
	r.local = local
	return resp.GetModels(), same, nil
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
