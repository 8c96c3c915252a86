package rpc

import (
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // client-side health checking, for balancing
	"google.golang.org/grpc/keepalive"
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

// Dial makes a connection to a service by "host:port" or a gRPC target. Calls
// are balanced over all addresses of the name, each call by itself. Nothing is
// connected yet; a service that is down is an error of the call, at once.
func Dial(target string, cfg Config) (*grpc.ClientConn, error) {
	return dial(target, cfg, grpc.WithDefaultServiceConfig(balancing))
}

// DialAddress makes a connection to one replica, whether it says that it serves
// or not: for asking and telling it things.
func DialAddress(address string, cfg Config) (*grpc.ClientConn, error) {
	return dial("passthrough:///"+address, cfg)
}

func dial(target string, cfg Config, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	if !strings.Contains(target, "://") {
		target = "dns:///" + target
	}
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
