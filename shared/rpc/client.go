package rpc

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // client-side health checking, for balancing
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// balancing picks a connection for each call, among the addresses of the name
// that say they are serving.
const balancing = `{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":""}}`

// A server that is back is found again within about this time.
const (
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 2 * time.Second
	connectTimeout = 3 * time.Second
)

// Replicas is a connection to all replicas of a service. Calls are balanced over
// those that say they serve, each call by itself; when there is none, a call
// fails at once. Whoever has it looks the addresses up: gRPC's own resolver asks
// again only every half minute, which a replica on a new address would have to
// wait for.
type Replicas struct {
	*grpc.ClientConn
	addresses *manual.Resolver
}

// DialReplicas makes a connection without addresses yet. Nothing is connected.
func DialReplicas(cfg Config) (*Replicas, error) {
	const scheme = "replicas"
	addresses := manual.NewBuilderWithScheme(scheme)
	addresses.InitialState(resolver.State{})
	conn, err := dial(scheme+":///", cfg, grpc.WithDefaultServiceConfig(balancing), grpc.WithResolvers(addresses))
	if err != nil {
		return nil, err
	}
	conn.Connect() // the resolver works from here on
	return &Replicas{ClientConn: conn, addresses: addresses}, nil
}

// SetAddresses makes the replicas those at host:port addresses. Calls that run
// are not disturbed.
func (r *Replicas) SetAddresses(addresses ...string) {
	state := resolver.State{}
	for _, a := range addresses {
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: a}}})
	}
	r.addresses.UpdateState(state)
}

// DialAddress makes a connection to one replica, whether it says that it serves
// or not: for asking and telling it things.
func DialAddress(address string, cfg Config) (*grpc.ClientConn, error) {
	return dial("passthrough:///"+address, cfg)
}

func dial(target string, cfg Config, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(target, append(options,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(cfg.MaxMessageBytes), grpc.MaxCallSendMsgSize(cfg.MaxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMost},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithUnaryInterceptor(unaryClient),
		grpc.WithStreamInterceptor(streamClient),
	)...)
}
