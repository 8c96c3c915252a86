//go:build chaos

package chaos_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/cli/chaos/ledger"
	"triptych/cli/chaos/natsd"
	"triptych/cli/chaos/spots"
	"triptych/cli/chaos/stack"
	"triptych/cli/chaos/syscalls"
	"triptych/shared/stream"
	"triptych/shared/testkit"
)

// cluster kills, of three NATS servers, the one that leads a stream, and starts it
// again, for the stream of verdicts and for that of inputs.
func cluster(t *testing.T, r *run) {
	nodes := natsd.StartCluster(t)
	h := open(t, r, stack.Options{Nodes: nodes, Flags: []string{"--jobs-replicas", "3"}})
	l := h.begin(t, spots.Slow)
	for _, name := range []string{stream.Verdicts, stream.Inputs} {
		h.progress(t, jobItems)
		leader := leaderOf(t, nodes, name)
		leader.Kill()
		r.killed()
		r.note("%s led %s", leader.Name, name)
		h.progress(t, 2*jobItems)
		leader.Start()
		leader.WaitReady()
	}
	h.progress(t, jobItems)
	l.end()
	h.close(t)
}

func leaderOf(t *testing.T, nodes []*natsd.Server, name string) *natsd.Server {
	t.Helper()
	nc, err := nats.Connect(nodes[0].URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		if node.Name == s.CachedInfo().Cluster.Leader {
			return node
		}
	}
	t.Fatalf("%s has no leader: %+v", name, s.CachedInfo().Cluster)
	return nil
}

// fsync has strace see what NATS does with the pages, the record and the verdicts of
// jobs: each is in a file and synced before its publisher is told. The same look
// finds faults in a server that syncs later: it can tell.
func fsync(t *testing.T, r *run) {
	always := traced(t, r, "always")
	for prefix, least := range map[string]int{pages: 2, records: 2, verdicts: 2 * jobItems} {
		if always.Acknowledged[prefix] < least {
			t.Errorf("%d messages on %s were seen, want at least %d", always.Acknowledged[prefix], prefix, least)
		}
	}
	for _, fault := range always.Faults {
		t.Error(fault)
	}
	r.note("synced before they were acknowledged: %v", always.Acknowledged)
	if later := traced(t, r, "2m"); len(later.Faults) == 0 {
		t.Errorf("with sync_interval 2m no fault is found in %v: the look is blind", later.Acknowledged)
	} else {
		r.note("with sync_interval 2m: %d are not", len(later.Faults))
	}
}

// What is looked at.
const (
	pages    = "triptych.input."
	records  = "$KV.triptych.job."
	verdicts = "triptych.verdict."
)

// traced runs two jobs over a NATS server under strace.
func traced(t *testing.T, r *run, interval string) syscalls.Report {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	h := open(t, r, stack.Options{NATS: natsd.Options{SyncInterval: interval, Under: syscalls.Command(file)}})
	for n := range 2 {
		h.deliver(t, ledger.Job{Model: spots.Model, Items: ledger.Pictures(1000*n, jobItems)})
	}
	h.close(t)
	for _, service := range h.All() {
		service.Terminate()
	}
	h.Nodes[0].Terminate()
	trace := ""
	testkit.Eventually(t, 30*time.Second, "the trace ends", func() bool {
		data, err := os.ReadFile(file)
		trace = string(data)
		return err == nil && strings.HasSuffix(trace, "+++\n")
	})
	report, err := syscalls.Read(strings.NewReader(trace), pages, records, verdicts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}
