package worker_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/stream/embedded"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// resumes checks that tasks are taken again within the time.
func resumes(t *testing.T, store *jobs.Store, data []byte, index uint32) {
	t.Helper()
	begun := time.Now()
	task := item(t, store, data, "j", index, 1)
	testkit.Eventually(t, 10*time.Second, "the item begins", func() bool { return store.Begin(t.Context(), task) == nil })
	testkit.Eventually(t, 10*time.Second, "the item has a verdict", func() bool {
		if _, _, err := store.Verdict(t.Context(), "j", index); err == nil {
			return true
		}
		// What lay in memory may be lost: whoever feeds begins such an item again.
		if time.Since(begun) > 3*time.Second {
			task.Attempt++
			_ = store.Begin(t.Context(), task)
			begun = time.Now()
		}
		return false
	})
}

// NAT-04: a consumer that is deleted under the worker is made again.
func TestDeletedConsumerAndStream(t *testing.T) {
	store := setup(t, named("a", "b"))
	data := chain(t, "a", "b")
	resumes(t, store, data, 0)
	js := store.Connection().JetStream()
	for level := 1; level <= stream.Levels; level++ {
		if err := js.DeleteConsumer(t.Context(), stream.StepStream("b"), stream.StepConsumer(level)); err != nil {
			t.Fatal(err)
		}
	}
	resumes(t, store, data, 1)
	if err := js.DeleteStream(t.Context(), stream.StepStream("b")); err != nil {
		t.Fatal(err)
	}
	resumes(t, store, data, 2)
	// Consumers wait for ever for who asks.
	c, err := js.Consumer(t.Context(), stream.StepStream("b"), stream.StepConsumer(2))
	if err != nil || c.CachedInfo().Config.InactiveThreshold != 0 {
		t.Errorf("got %v, %v", c, err)
	}
}

// wire is a way to a server that can be cut.
type wire struct {
	net.Listener
	to string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
	group sync.WaitGroup
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, to: to}
	w.group.Go(w.accept)
	t.Cleanup(func() {
		_ = l.Close()
		w.set(true)
		w.mu.Lock()
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.mu.Unlock()
		w.group.Wait()
	})
	return w
}

func (w *wire) accept() {
	for {
		a, err := w.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = a.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, a, b)
		w.mu.Unlock()
		w.group.Go(func() { w.carry(a, b) })
		w.group.Go(func() { w.carry(b, a) })
	}
}

// carry drops what comes while the wire is cut: neither end learns of it.
func (w *wire) carry(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		w.mu.Lock()
		cut := w.cut
		w.mu.Unlock()
		if cut {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

// reset closes the connections.
func (w *wire) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func serverAt(t *testing.T, directory, address string) *embedded.Server {
	t.Helper()
	return natstest.Server(t, func(c *embedded.Config) { c.Directory, c.Address = directory, address })
}

// over reaches the server by an address.
func over(address string) func(*stream.Config) {
	return func(c *stream.Config) { c.InProcess, c.URL = nil, "nats://"+address }
}

// NAT-04: a server that restarts loses the queues, which are in memory. They are
// made again, and what is begun again goes its way.
func TestServerRestarts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	directory := t.TempDir()
	server := serverAt(t, directory, address)
	store := natstest.Store(t, server, over(address))
	door, _ := open(t, settings(), store, named("a", "b"), telemetry.Discard())
	data := chain(t, "a", "b")
	resumes(t, store, data, 0)
	server.Stop()
	if err := door.Ready(); err != nil {
		t.Errorf("not ready because NATS is away: %v", err)
	}
	serverAt(t, directory, address)
	resumes(t, store, data, 1)
	gives(t, store, "j", 0, 3) // verdicts are on disk
	if err := door.Ready(); err != nil {
		t.Error(err)
	}
}

// NAT-04: while the worker can't reach NATS and nobody tells it, nothing is lost,
// and when the wire is whole again it goes on.
func TestPartition(t *testing.T) {
	server := serverAt(t, t.TempDir(), "127.0.0.1:0")
	outside := natstest.Store(t, server, quick)
	wire := newWire(t, server.URL()[len("nats://"):])
	inside := natstest.Store(t, server, quick, over(wire.Addr().String()))
	open(t, settings(), inside, named("a", "b"), telemetry.Discard())
	data := chain(t, "a", "b")
	resumes(t, outside, data, 0)
	wire.set(true)
	task := item(t, outside, data, "j", 1, 1)
	begin(t, outside, task)
	time.Sleep(2 * time.Second)
	wire.set(false)
	wire.reset()
	gives(t, outside, "j", 1, 3)
	resumes(t, outside, data, 2)
}
