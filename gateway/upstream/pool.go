package upstream

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/rpc"
)

// askTimeout bounds one question to one replica; a replica that takes longer
// counts as away until the next round.
const askTimeout = 2 * time.Second

// pool is one upstream: a name and the replicas behind it. Inference goes through
// one balanced connection, questions and orders to each replica by itself.
type pool struct {
	name   string
	config rpc.Config
	conn   *grpc.ClientConn
	client inference.GRPCInferenceServiceClient

	mu       sync.Mutex
	replicas map[string]*replica
}

func newPool(address string, cfg rpc.Config) (*pool, error) {
	conn, err := rpc.Dial(address, cfg)
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
func (p *pool) ask(ctx context.Context) []report {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	addresses, err := resolve(ctx, p.name)
	if err != nil {
		return []report{{pool: p, address: p.name, err: failure.Wrap(err, failure.Unavailable, "%s can't be resolved", p.name)}}
	}
	replicas, err := p.update(addresses)
	if err != nil {
		return []report{{pool: p, address: p.name, err: err}}
	}
	reports := make([]report, len(replicas))
	var all sync.WaitGroup
	for i, r := range replicas {
		all.Go(func() { reports[i] = r.ask(ctx, p) })
	}
	all.Wait()
	return reports
}

func resolve(ctx context.Context, name string) ([]string, error) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return nil, err
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, err
	}
	slices.Sort(hosts)
	addresses := make([]string, 0, len(hosts))
	for _, h := range slices.Compact(hosts) {
		addresses = append(addresses, net.JoinHostPort(h, port))
	}
	return addresses, nil
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
			r = &replica{address: a, conn: conn, client: inference.NewGRPCInferenceServiceClient(conn), configs: map[key]*inference.ModelConfig{}}
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

// each runs an order at every replica, side by side.
func (p *pool) each(run func(client inference.GRPCInferenceServiceClient, address string)) {
	p.mu.Lock()
	var all sync.WaitGroup
	for _, r := range p.replicas {
		all.Go(func() { run(r.client, r.address) })
	}
	p.mu.Unlock()
	all.Wait()
}
