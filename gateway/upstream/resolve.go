package upstream

import (
	"context"
	"net"
	"slices"
	"strings"
)

// hostPort takes the scheme and the authority of a gRPC target away.
func hostPort(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		return rest[strings.LastIndex(rest, "/")+1:]
	}
	return address
}

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
