//go:build chaos

package chaos_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"triptych/cli/chaos/ledger"
	"triptych/cli/e2e/process"
	pb "triptych/proto/jobs"
	"triptych/shared/testkit"
)

// scenario is one fault: what is done, and the test that does it.
type scenario struct {
	name, what string
	run        func(t *testing.T, r *run)
}

// scenarios, those that take longest first.
func scenarios() []scenario {
	return []scenario{
		{"partition", "20 s without NATS for a worker, then for the gateway", partition},
		{"poison", "an image that hangs its worker, models that fail and hang", poison},
		{"kill workers", "ten SIGKILLs of workers at random under load", killWorkers},
		{"kill nats", "SIGKILL of NATS while it accepts, and twice while jobs run", killNATS},
		{"kill gateway", "SIGKILL of the gateway between storing and answering", killGateway},
		{"clock", "the gateway's clock jumps an hour ahead, then two back", clock},
		{"slow worker", "SIGSTOP of a worker for longer than its ack wait, real model", slowWorker},
		{"full stream", "backlog, queues and verdicts filled up", fullStream},
		{"full disk", "the disk under NATS filled by somebody else", fullDisk},
		{"redelivery", "workers killed after a verdict, before they acknowledge", redelivery},
		{"two gateways", "two gateways accept; each is killed in turn, and so who feeds", twoGateways},
		{"cluster", "three NATS servers, SIGKILL of the streams' leaders", cluster},
		{"fsync", "system calls of NATS traced: synced, then acknowledged", fsync},
	}
}

// run is one scenario as it runs, and its line of the record.
type run struct {
	programs string

	kills, jobs, items, succeeded, dead, expired, tries, again int
	notes                                                      []string
}

// killed counts a fault that was done.
func (r *run) killed() { r.kills++ }

// note adds a remark to the line.
func (r *run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *run) add(s *ledger.Stored, l *ledger.Ledger) {
	r.jobs += len(s.Records)
	r.items += s.Items()
	r.succeeded += s.Count(pb.Outcome_OUTCOME_SUCCEEDED)
	r.dead += s.Count(pb.Outcome_OUTCOME_DEAD)
	r.expired += s.Count(pb.Outcome_OUTCOME_EXPIRED)
	if r.expired > 0 {
		r.note("%d expired", r.expired)
	}
	r.tries += s.Attempts()
	if refused := l.Refused(); len(refused) > 0 {
		r.note("refused %v", refused)
	}
}

// TestChaos runs all scenarios, some at once, and prints the record of them.
func TestChaos(t *testing.T) {
	t.Parallel()
	programs := process.Programs(t)
	var mu sync.Mutex
	lines := map[string]string{}
	t.Cleanup(func() { record(t, lines) })
	for _, s := range scenarios() {
		t.Run(strings.ReplaceAll(s.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			r := &run{programs: programs}
			begin := time.Now()
			t.Cleanup(func() {
				mu.Lock()
				defer mu.Unlock()
				lines[s.name] = r.text(s, t.Failed(), time.Since(begin))
			})
			s.run(t, r)
		})
	}
}

func (r *run) text(s scenario, failed bool, took time.Duration) string {
	result := "held"
	if failed {
		result = "FAILED"
	}
	return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%.0f s\t%s", s.name, s.what, r.kills, r.jobs, r.items, r.succeeded, r.dead, r.tries, r.again, result, took.Seconds(), strings.Join(r.notes, "; "))
}

// record prints the lines as a table, and keeps it in coverage/chaos.txt.
func record(t *testing.T, lines map[string]string) {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "scenario\twhat was done\tfaults\tjobs\titems\tsucceeded\tdead\tfailed runs\tredelivered\tresult\ttook\tnotes")
	for _, s := range scenarios() {
		if line, ok := lines[s.name]; ok {
			fmt.Fprintln(table, line)
		}
	}
	if err := table.Flush(); err != nil {
		t.Error(err)
	}
	t.Logf("\n%s", b.String())
	if err := os.MkdirAll(testkit.Path(t, "coverage"), 0o755); err != nil { //nolint:gosec // as make does
		t.Error(err)
	}
	if err := os.WriteFile(testkit.Path(t, "coverage", "chaos.txt"), []byte(b.String()), 0o600); err != nil {
		t.Error(err)
	}
}
