package targettest

import (
	"net"
	"testing"
)

// Nobody is an address HOST:PORT at which no program listens.
func Nobody(tb testing.TB) string {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		tb.Fatal(err)
	}
	return listener.Addr().String()
}
