package upstream

import (
	"context"
	"net"
	"slices"
	"strings"
)

// hostPort takes the scheme of a gRPC target by DNS away. Other targets stay as
// they are, which is not HOST:PORT.
func hostPort(address string) string { return strings.TrimPrefix(address, "dns:///") }

// resolve finds the addresses behind a name, sorted. They are looked up anew in
// each round, for replicas come and go.
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
