// Package natsd runs the real nats-server for tests, as processes that can be killed
// and come back to their directories: one server, or a cluster of three. Only tests
// import it.
package natsd

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"triptych/cli/e2e/process"
	"triptych/shared/testkit"
)

// Options are what a server is started with; the zero value is a server with a
// directory of its own.
type Options struct {
	// Directory is where it stores; empty for one that goes with the test.
	Directory string
	// SyncInterval is when it syncs: empty means always, before it acknowledges.
	SyncInterval string
	// Under is a command with arguments that the server is run by, such as strace.
	Under []string
}

// Server is one nats-server with JetStream.
type Server struct {
	*process.Process
	// Name is the server's in its cluster.
	Name string
	// Address is where clients connect.
	Address string

	tb      testing.TB
	monitor string
}

// URL is where clients connect.
func (s *Server) URL() string { return "nats://" + s.Address }

// Start runs one server and waits until it serves.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := prepare(tb, "alone", o, "")
	s.Start()
	s.WaitReady()
	return s
}

// nodes is how many servers a cluster has.
const nodes = 3

// StartCluster runs three servers that know each other, and waits until they serve.
func StartCluster(tb testing.TB) []*Server {
	tb.Helper()
	var ports, routes [nodes]string
	for i := range nodes {
		ports[i] = process.Address(tb)
		routes[i] = strconv.Quote("nats-route://" + ports[i])
	}
	servers := make([]*Server, nodes)
	for i := range servers {
		cluster := fmt.Sprintf("cluster { name: triptych, listen: %q, routes: [ %s ] }\n", ports[i], strings.Join(routes[:], ", "))
		servers[i] = prepare(tb, fmt.Sprintf("node-%d", i), Options{}, cluster)
		servers[i].Start()
	}
	for _, s := range servers {
		s.WaitReady()
	}
	return servers
}

// Program is the path of the pinned nats-server.
func Program(tb testing.TB) string {
	tb.Helper()
	path := testkit.Path(tb, "bin", "tools", "nats-server")
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("%v: run `make bin/tools/nats-server`", err)
	}
	return path
}

func prepare(tb testing.TB, name string, o Options, cluster string) *Server {
	tb.Helper()
	if o.Directory == "" {
		o.Directory = tb.TempDir()
	}
	if o.SyncInterval == "" {
		o.SyncInterval = "always"
	}
	s := &Server{tb: tb, Name: name, Address: process.Address(tb), monitor: testkit.FreeAddress(tb)}
	text := fmt.Sprintf(`server_name: %s
listen: %q
http: %q
jetstream { store_dir: %q, sync_interval: %s, max_memory_store: 8GB, max_file_store: 10GB }
%s`, name, s.Address, s.monitor, o.Directory, o.SyncInterval, cluster)
	path := filepath.Join(tb.TempDir(), "nats.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	command := slices.Concat(o.Under, []string{Program(tb), "--config", path})
	s.Process = process.New(tb, command[0], command[1:]...)
	return s
}

// startTimeout bounds how long a server may take to read what it kept.
const startTimeout = 60 * time.Second

// WaitReady waits until the server serves JetStream.
func (s *Server) WaitReady() {
	s.tb.Helper()
	testkit.Eventually(s.tb, startTimeout, "nats-server "+s.Name+" serves", s.Healthy)
}

// Restart kills the server and starts it again at once on the same directory.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	s.Start()
	s.WaitReady()
}

// Healthy tells whether the server says that it serves, JetStream included.
func (s *Server) Healthy() bool {
	return process.Status("http://"+s.monitor+"/healthz") == http.StatusOK
}
