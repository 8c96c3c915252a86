package cluster_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/cli/cluster"
	"triptych/cli/cluster/clustertest"
	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/stream/embedded"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// empty is a repository without models.
func empty(t *testing.T) string {
	t.Helper()
	return t.TempDir()
}

// lines keeps what several services log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func connect(t *testing.T, cfg stream.Config) jetstream.JetStream {
	t.Helper()
	conn, err := stream.Connect(cfg, "test", telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn.JetStream()
}

// inputs counts the messages of the backlog once the services have made it.
func inputs(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var s jetstream.Stream
	testkit.Eventually(t, 10*time.Second, "the backlog is there", func() bool {
		var err error
		s, err = js.Stream(ctx, stream.Inputs)
		return err == nil
	})
	return s.CachedInfo().State.Msgs
}

func TestJobsOutliveARestart(t *testing.T) {
	directory, address := t.TempDir(), testkit.FreeAddress(t)
	for _, want := range []uint64{0, 1} {
		t.Run("", func(t *testing.T) {
			clustertest.Up(t, empty(t), 0, func(c *cluster.Config) { c.NATS.Directory, c.NATS.Address = directory, address })
			cfg := stream.DefaultConfig()
			cfg.URL = "nats://" + address
			js := connect(t, cfg)
			if got := inputs(t, js); got != want {
				t.Errorf("%d messages are there, want %d", got, want)
			}
			if _, err := js.Publish(t.Context(), stream.InputSubject("j", "0"), []byte("page")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestADirectoryInUse(t *testing.T) {
	directory := t.TempDir()
	clustertest.Up(t, empty(t), 0, func(c *cluster.Config) { c.NATS.Directory = directory })
	cfg := cluster.DefaultConfig()
	cfg.Common.Repository, cfg.NATS.Directory = []string{empty(t)}, directory
	err := cluster.Run(t.Context(), cfg, io.Discard, func(cluster.Ready) {})
	if failure.KindOf(err) != failure.Conflict || !strings.HasPrefix(failure.Message(err), "--data-directory: the directory \"") {
		t.Errorf("got %s %v", failure.KindOf(err), err)
	}
}

// Without a folder for jobs there is a temporary one, which is said once and goes at
// the end.
func TestATemporaryDirectory(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	cfg := cluster.DefaultConfig()
	cfg.Common.Repository = []string{empty(t)}
	cfg.Common.GRPCAddress, cfg.Common.Admin.Address, cfg.Gateway.Front.Address = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	logs := &lines{}
	ctx, cancel := context.WithCancel(t.Context())
	there := 0
	err := cluster.Run(ctx, cfg, logs, func(cluster.Ready) {
		found, _ := filepath.Glob(filepath.Join(temporary, "triptych-*", "nats", "lock"))
		there = len(found)
		cancel()
	})
	if err != nil || there != 1 {
		t.Errorf("%d folders, %v", there, err)
	}
	if left, err := os.ReadDir(temporary); len(left) > 0 || err != nil {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if n := strings.Count(logs.text(), "no --data-directory was given"); n != 1 {
		t.Errorf("it is said %d times: %s", n, logs.text())
	}
}

func TestAnotherServer(t *testing.T) {
	other := natstest.Server(t, func(c *embedded.Config) { c.Address = "127.0.0.1:0" })
	cfg := stream.DefaultConfig()
	cfg.InProcess = other
	js := connect(t, cfg)
	clustertest.Up(t, empty(t), 0, func(c *cluster.Config) { c.Common.Stream.URL = other.URL() })
	inputs(t, js)
}

func TestAnAddressOfAnothersServer(t *testing.T) {
	cfg := cluster.DefaultConfig()
	cfg.Common.Stream.URL, cfg.NATS.Address = "nats://127.0.0.1:1", "127.0.0.1:0"
	err := cluster.Run(t.Context(), cfg, io.Discard, func(cluster.Ready) {})
	if failure.KindOf(err) != failure.Invalid || !strings.HasPrefix(failure.Message(err), "--nats-address does not go with --nats-url") {
		t.Errorf("got %v", err)
	}
}

// The services start, and serve, when NATS is away.
func TestNATSIsAway(t *testing.T) {
	clustertest.Up(t, empty(t), 0, func(c *cluster.Config) { c.Common.Stream.URL = "nats://127.0.0.1:1" })
}
