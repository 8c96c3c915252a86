package upstream

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"triptych/gateway/upstream/budget"
	"triptych/shared/failure"
	"triptych/shared/rpc"
)

// askTimeout bounds each part of a round of questions; a replica that takes longer
// to say what it has counts as away until the next round.
const askTimeout = 2 * time.Second

// pool is one upstream: a name and the replicas behind it.
type pool struct {
	name      string
	config    rpc.Config
	ejectTime time.Duration
	budget    *budget.Budget

	retries, hedges, hedgesWon, denied atomic.Int64

	asks     sync.WaitGroup // that are under way
	mu       sync.Mutex
	replicas map[string]*replica
	// leaving are no longer behind the name and finish the calls that they run.
	leaving []*replica
}

// answer is what a pool answered in one round. Away says why, when no replica
// answered.
type answer struct {
	reports []report
	away    error
}

func newPool(address string, cfg Config, rpcConfig rpc.Config) *pool {
	return &pool{
		name: hostPort(address), config: rpcConfig, ejectTime: cfg.EjectTime,
		budget: budget.New(cfg.Retry), replicas: map[string]*replica{},
	}
}

func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var failed error
	for _, r := range p.replicas {
		failed = errors.Join(failed, r.conn.Close())
	}
	for _, r := range p.leaving {
		failed = errors.Join(failed, r.conn.Close())
	}
	p.leaving = nil
	return failed
}

// ask resolves the pool's name and asks every replica what it serves.
func (p *pool) ask(ctx context.Context) answer {
	addresses, err := p.resolve(ctx)
	if err != nil {
		return p.unresolved(failure.Wrap(err, failure.Unavailable, "%s can't be resolved", p.name))
	}
	replicas, err := p.update(addresses)
	if err != nil {
		return p.unresolved(err)
	}
	reports := p.askAll(ctx, replicas)
	welcome(ctx, reports)
	return answer{reports: reports, away: away(reports)}
}

func (p *pool) resolve(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return resolve(ctx, p.name)
}

// unresolved is the answer of a pool whose addresses are not known now: what its
// replicas last said is remembered.
func (p *pool) unresolved(err error) answer {
	a := answer{away: err}
	for _, r := range p.current() {
		r.away.Store(true)
		a.reports = append(a.reports, report{replica: r, index: r.last.index, err: err})
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

// update makes the replicas those at the addresses. The others finish their calls:
// a process that ends has its name taken away first.
func (p *pool) update(addresses []string) ([]*replica, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dismiss()
	current := make([]*replica, 0, len(addresses))
	for _, a := range addresses {
		if p.replicas[a] == nil {
			r, err := newReplica(p, a)
			if err != nil {
				return nil, err
			}
			p.replicas[a] = r
		}
		current = append(current, p.replicas[a])
	}
	for a, r := range p.replicas {
		if !slices.Contains(addresses, a) {
			p.leaving = append(p.leaving, r)
			delete(p.replicas, a)
		}
	}
	return current, nil
}

// dismiss closes the connections to those that left in an earlier round, so that no
// catalog in use has them, and that have nothing to do any more.
func (p *pool) dismiss() {
	p.leaving = slices.DeleteFunc(p.leaving, func(r *replica) bool {
		if r.calls.Load() > 0 {
			return false
		}
		_ = r.conn.Close() // nobody uses it any more
		return true
	})
}

// all are the replicas behind the name, and those that finish their calls, in any
// order.
func (p *pool) all() []*replica {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.AppendSeq(slices.Clone(p.leaving), maps.Values(p.replicas))
}

func (p *pool) current() []*replica {
	p.mu.Lock()
	defer p.mu.Unlock()
	replicas := slices.Collect(maps.Values(p.replicas))
	slices.SortFunc(replicas, func(a, b *replica) int { return cmp.Compare(a.address, b.address) })
	return replicas
}

// members are the replicas that have answered before.
func (p *pool) members() []*replica {
	return slices.DeleteFunc(p.current(), func(r *replica) bool { return !r.member.Load() })
}
