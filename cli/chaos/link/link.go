// Package link is a TCP proxy for tests that stands between a process and a
// server: it can black-hole what passes, as a partition does, and it can notice the
// moment in which a server has answered. It reads no protocol but the little of
// NATS's that a trap needs.
package link

import (
	"net"
	"sync"
	"testing"
)

// Link carries the connections that are made to it to one server. Safe for
// concurrent use.
type Link struct {
	listener net.Listener
	target   string
	all      sync.WaitGroup

	mu     sync.Mutex
	open   chan struct{} // closed while bytes pass
	conns  map[net.Conn]bool
	closed bool
	trap   *Trap
	gone   chan struct{} // closed when the link is
}

// New makes a link to a server's address. It ends with the test.
func New(tb testing.TB, target string) *Link {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l := &Link{listener: listener, target: target, open: make(chan struct{}), conns: map[net.Conn]bool{}, gone: make(chan struct{})}
	close(l.open)
	l.all.Go(l.accept)
	tb.Cleanup(l.close)
	return l
}

// Address is where the link listens.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Cut holds back every byte in both directions, and the ends of connections too,
// until Mend: nobody is told of anything.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		l.open = make(chan struct{})
	default:
	}
}

// Mend lets bytes pass again, those held back first.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

// Set lays a trap for all connections, in the place of the one before.
func (l *Link) Set(t *Trap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trap = t
}

func (l *Link) close() {
	l.mu.Lock()
	l.closed = true
	close(l.gone)
	for c := range l.conns {
		_ = c.Close()
	}
	l.mu.Unlock()
	_ = l.listener.Close()
	l.all.Wait()
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.keep(client) {
			l.all.Go(func() { l.serve(client) })
		}
	}
}

// keep has a connection closed with the link.
func (l *Link) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = c.Close()
		return false
	}
	l.conns[c] = true
	return true
}

func (l *Link) drop(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	_ = c.Close()
}

func (l *Link) serve(client net.Conn) {
	defer l.drop(client)
	if !l.pass() {
		return
	}
	server, err := net.Dial("tcp", l.target) //nolint:noctx // to loopback
	if err != nil || !l.keep(server) {
		return
	}
	defer l.drop(server)
	s := &session{}
	var both sync.WaitGroup
	both.Go(func() { l.copy(server, client, s.fromClient) })
	both.Go(func() { l.copy(client, server, s.fromServer) })
	both.Wait()
}

// pass waits until bytes may pass; it is false when the link is closed.
func (l *Link) pass() bool {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	select {
	case <-open:
		return true
	case <-l.gone:
		return false
	}
}

const chunk = 64 << 10

// copy carries one direction until it ends, and then ends the other side.
func (l *Link) copy(to, from net.Conn, see func(*Trap, []byte) bool) {
	data := make([]byte, chunk)
	for {
		n, err := from.Read(data)
		if !l.pass() || !see(l.trapped(), data[:n]) {
			break
		}
		if _, failed := to.Write(data[:n]); failed != nil || err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
}

func (l *Link) trapped() *Trap {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trap
}
