package upstream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/rpc"
)

// askTimeout bounds a round of questions to one pool; a replica that takes longer
// counts as away until the next round.
const askTimeout = 2 * time.Second

// pool is one upstream: a name and the replicas behind it. Inference goes through
// one balanced connection, questions and orders to each replica by itself.
type pool struct {
	name   string
	config rpc.Config
	conn   *rpc.Replicas
	client inference.GRPCInferenceServiceClient
	calls  atomic.Int64 // that run now

	mu       sync.Mutex
	replicas map[string]*replica
}

// answer is what a pool answered in one round. Away says why, when no replica
// answered.
type answer struct {
	pool    *pool
	reports []report
	away    error
}

func newPool(address string, cfg rpc.Config) (*pool, error) {
	conn, err := rpc.DialReplicas(cfg)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "upstream %q", address)
	}
	return &pool{name: hostPort(address), config: cfg, conn: conn, client: inference.NewGRPCInferenceServiceClient(conn), replicas: map[string]*replica{}}, nil
}

func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.conn.Close()
	for _, r := range p.replicas {
		err = errors.Join(err, r.conn.Close())
	}
	return err
}

// ask resolves the pool's name and asks every replica what it serves.
func (p *pool) ask(ctx context.Context) answer {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	addresses, err := resolve(ctx, p.name)
	if err != nil {
		return p.unresolved(failure.Wrap(err, failure.Unavailable, "%s can't be resolved", p.name))
	}
	replicas, err := p.update(addresses)
	if err != nil {
		return p.unresolved(err)
	}
	p.conn.SetAddresses(addresses...)
	reports := make([]report, len(replicas))
	var all sync.WaitGroup
	for i, r := range replicas {
		all.Go(func() { reports[i] = r.ask(ctx, p.name) })
	}
	all.Wait()
	welcome(ctx, replicas, reports)
	if slices.ContainsFunc(reports, func(r report) bool { return r.joined }) {
		p.conn.ResetConnectBackoff() // somebody is back: calls need not wait to notice
	}
	return answer{pool: p, reports: reports, away: away(reports)}
}

// unresolved is the answer of a pool whose addresses are not known now: what its
// replicas last said is remembered.
func (p *pool) unresolved(err error) answer {
	a := answer{pool: p, away: err}
	for _, r := range p.current() {
		r.away = true
		a.reports = append(a.reports, report{index: r.index, err: err})
	}
	return a
}

func away(reports []report) error {
	var first error
	for _, r := range reports {
		if r.err == nil {
			return nil
		}
		if first == nil {
			first = r.err
		}
	}
	return first
}

// update makes the replicas those at the addresses, and closes the connections
// to others.
func (p *pool) update(addresses []string) ([]*replica, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := make([]*replica, 0, len(addresses))
	for _, a := range addresses {
		r := p.replicas[a]
		if r == nil {
			conn, err := rpc.DialAddress(a, p.config)
			if err != nil {
				return nil, failure.Wrap(err, failure.Invalid, "upstream %q", a)
			}
			r = &replica{address: a, conn: conn, client: inference.NewGRPCInferenceServiceClient(conn)}
			p.replicas[a] = r
		}
		current = append(current, r)
	}
	for a, r := range p.replicas {
		if !slices.Contains(addresses, a) {
			_ = r.conn.Close() // nobody uses it any more
			delete(p.replicas, a)
		}
	}
	return current, nil
}

func (p *pool) current() []*replica {
	p.mu.Lock()
	defer p.mu.Unlock()
	replicas := make([]*replica, 0, len(p.replicas))
	for _, r := range p.replicas {
		replicas = append(replicas, r)
	}
	slices.SortFunc(replicas, func(a, b *replica) int { return cmp.Compare(a.address, b.address) })
	return replicas
}

// members are the replicas that have answered before.
func (p *pool) members() []*replica {
	return slices.DeleteFunc(p.current(), func(r *replica) bool { return !r.member.Load() })
}
