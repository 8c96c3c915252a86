package embedded_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
	"triptych/shared/stream/embedded"
	"triptych/shared/testkit"
)

func start(t *testing.T, cfg embedded.Config) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// client connects to a server, within the process when it has no address.
func client(t *testing.T, s *embedded.Server, options ...nats.Option) jetstream.JetStream {
	t.Helper()
	if len(options) == 0 {
		options = []nats.Option{nats.InProcessServer(s)}
	}
	closed := make(chan struct{})
	nc, err := nats.Connect(s.URL(), append(options, nats.ClosedHandler(func(*nats.Conn) { close(closed) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(); <-closed })
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// What was said to be stored is on the disk: the server syncs each write, whatever
// the stream.
func TestEachWriteIsSynced(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Directory: t.TempDir()})
	if !s.Synced() {
		t.Error("writes are not synced")
	}
}

func TestFilesOutliveTheServer(t *testing.T) {
	t.Parallel()
	cfg := embedded.Config{Directory: filepath.Join(t.TempDir(), "made", "here")}
	for want := range uint64(3) {
		s := start(t, cfg)
		js := client(t, s)
		stream, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := stream.CachedInfo().State.Msgs; got != want {
			t.Errorf("%d messages are there, want %d", got, want)
		}
		if _, err := js.Publish(t.Context(), "s", nil); err != nil {
			t.Error(err)
		}
		js.Conn().Close()
		s.Stop()
		s.Stop()
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	tests := map[string]struct {
		address string
		want    failure.Kind
		text    string
	}{
		"no port":   {"localhost", failure.Invalid, `the address "localhost" of the NATS server is not HOST:PORT`},
		"no number": {"localhost:nats", failure.Invalid, `the address "localhost:nats" of the NATS server has no port`},
		"taken":     {taken.Addr().String(), failure.Unavailable, "the NATS server can't start: Error listening on port"},
	}
	for name, test := range tests {
		s, err := embedded.Start(embedded.Config{Directory: t.TempDir(), Address: test.address})
		if err == nil {
			s.Stop()
		}
		if err == nil || failure.KindOf(err) != test.want || !strings.HasPrefix(failure.Message(err), test.text) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, address := range []string{"127.0.0.1:0", testkit.FreeAddress(t)} {
		s := start(t, embedded.Config{Directory: t.TempDir(), Address: address})
		if _, err := client(t, s, nats.Name("outside")).AccountInfo(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	used := t.TempDir()
	start(t, embedded.Config{Directory: used})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		directory string
		want      failure.Kind
		text      string
	}{
		"used":              {used, failure.Conflict, "is used by another NATS server"},
		"a file":            {file, failure.Invalid, "can't be made"},
		"a file in its way": {broken, failure.Unavailable, "the NATS server can't start: Can't start JetStream"},
	}
	for name, test := range tests {
		s, err := embedded.Start(embedded.Config{Directory: test.directory})
		if err == nil {
			s.Stop()
		}
		if err == nil || failure.KindOf(err) != test.want || !strings.Contains(failure.Message(err), test.text) {
			t.Errorf("%s: got %s %v", name, failure.KindOf(err), err)
		}
	}
}

// lines keeps what is logged.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

// A server that ends in the midst of what it was asked for leaves nothing behind: the
// check of this package's goroutines sees to that.
func TestTheEndInTheMidst(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Directory: t.TempDir()})
	js := client(t, s)
	var asking sync.WaitGroup
	for i := range 50 {
		asking.Go(func() {
			// Whether it is made is not known.
			_, _ = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S" + strconv.Itoa(i), Subjects: []string{"s" + strconv.Itoa(i)}})
		})
	}
	testkit.Eventually(t, 5*time.Second, "it has begun", func() bool { return js.Conn().Stats().OutMsgs > 20 })
	js.Conn().Close()
	s.Stop()
	asking.Wait()
}

// Files that are deleted under a server are noticed: it writes on, and would lose what
// it is given.
func TestFilesAreGone(t *testing.T) {
	directory := t.TempDir()
	s := start(t, embedded.Config{Directory: directory, Look: 10 * time.Millisecond})
	if err := s.Low(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(directory, "jetstream")); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 5*time.Second, "it takes no more", func() bool { return failure.KindOf(s.Low()) == failure.Unavailable && s.Low() != nil })
}
