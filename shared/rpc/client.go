package rpc

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"
)

// A server that is back is found again within about this time.
const (
	reconnectFirst = 100 * time.Millisecond
	reconnectMost  = 2 * time.Second
	connectTimeout = 3 * time.Second
)

// Dial makes a connection to the one server at host:port. Nothing is connected
// before the first call. While the server is away, a call fails at once.
func Dial(address string, cfg Config) (*grpc.ClientConn, error) {
	codec := newCodec()
	return grpc.NewClient("passthrough:///"+address,
		experimental.WithBufferPool(codec.pool),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(cfg.MaxMessageBytes), grpc.MaxCallSendMsgSize(cfg.MaxMessageBytes), grpc.ForceCodecV2(codec)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMost},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithChainUnaryInterceptor(unaryClient, honest),
		grpc.WithStreamInterceptor(streamClient),
	)
}
