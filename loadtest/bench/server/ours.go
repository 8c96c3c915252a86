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
	command, address, _, err := Ours(ctx, binary, flags)
	if err != nil {
		return nil, err
	}
	return Start(ctx, command, address, log)
}

// Ours is what StartOurs runs, the address of gRPC, and that of the operators' port.
func Ours(ctx context.Context, binary string, flags []string) (command, address, admin string, err error) {
	if address, err = Free(ctx); err != nil {
		return "", "", "", err
	}
	if admin, err = Free(ctx); err != nil {
		return "", "", "", err
	}
	return Command(append([]string{binary, "--grpc-address", address, "--admin-address", admin}, flags...)...), address, admin, nil
}

// Command is a program with its arguments as a command of the shell, which the
// program replaces.
func Command(args ...string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return "exec " + strings.Join(quoted, " ")
}

// Free is an address that nobody listens at.
func Free(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
