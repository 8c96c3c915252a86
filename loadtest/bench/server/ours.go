package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
)

// StartOurs runs one of our own binaries on free ports, with flags of its own
// beside the addresses.
func StartOurs(ctx context.Context, binary string, flags []string, log io.Writer) (*Server, error) {
	address, err := free(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := free(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]string{binary, "--grpc-address", address, "--admin-address", admin}, flags...)
	for i, arg := range args {
		args[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return Start(ctx, "exec "+strings.Join(args, " "), address, log)
}

// free is an address that nobody listens at.
func free(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
