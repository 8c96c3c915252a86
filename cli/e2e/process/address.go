package process

import (
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

// Ports are given out below those that systems use for outgoing connections: nobody
// takes one while the process that it is for is dead.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

// given counts the ports that were given out. It is the test program's own, and no
// port is given twice: those of the next stack must not be those that one that is
// just starting has not opened yet.
var given atomic.Uint32

// Address is a port of loopback on which nobody listens, and that nobody else in the
// test program is given. Programs that run at once begin at different ones.
func Address(tb testing.TB) string {
	tb.Helper()
	for range lastPort - firstPort {
		n := os.Getpid()*101 + int(given.Add(1))
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+n%(lastPort-firstPort)))
		l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", address)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			tb.Fatal(err)
		}
		return address
	}
	tb.Fatal("no port is free")
	return ""
}
