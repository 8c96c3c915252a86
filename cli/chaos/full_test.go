//go:build chaos

package chaos_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"triptych/cli/chaos/ledger"
	"triptych/cli/chaos/natsd"
	"triptych/cli/chaos/spots"
	"triptych/cli/chaos/stack"
	"triptych/shared/testkit"
)

// fill sends jobs, each once, until one is refused for the given reasons, and then
// those that were refused until they are accepted.
func (h *house) fill(t *testing.T, job func(n int) ledger.Job, most int, reasons ...int) (refused []ledger.Job) {
	t.Helper()
	for n := range most {
		next := job(n)
		next.Key = next.Model + "-" + strconv.Itoa(next.Items[0].Picture)
		reply := h.ledger.Send(t.Context(), 0, next)
		if reply.Status == http.StatusAccepted {
			continue
		}
		refused = append(refused, next)
		for _, reason := range reasons {
			if reply.Status == reason {
				return refused
			}
		}
		t.Errorf("job %d is answered %d: %s", n, reply.Status, reply.Body)
	}
	t.Errorf("none of %d jobs was refused", most)
	return refused
}

// fullStream fills the backlog with inputs, and then the verdict stream: no job is
// taken whose results have no room, and when an operator takes the room away from
// jobs that were accepted, they wait until it is back. The queues of tasks are full
// all the time.
func fullStream(t *testing.T, r *run) {
	const tight, roomy = "1048576", "67108864"
	h := open(t, r, stack.Options{Flags: []string{"--jobs-step-messages", "16", "--jobs-backlog-bytes", tight, "--jobs-verdict-bytes", tight}})
	padded := func(n int) ledger.Job {
		items := ledger.Pictures(100*n, jobItems)
		for i := range items {
			items[i].Padding = 8 << 10
		}
		return ledger.Job{Model: spots.Slow, Items: items}
	}
	for _, job := range h.fill(t, padded, 30, http.StatusTooManyRequests) {
		r.killed()
		h.deliver(t, job)
	}
	h.ledger.Await(t.Context(), within)
	h.room(t, roomy, tight)
	named := func(n int) ledger.Job {
		items := ledger.Pictures(5001+1000*n, 250)
		for i := range items {
			items[i].Name = strings.Repeat("n", 800) + strconv.Itoa(i) + ".png"
		}
		return ledger.Job{Model: spots.Slow, Items: items}
	}
	refused := h.fill(t, named, 10, http.StatusTooManyRequests)
	r.killed()
	h.Workers["postprocess"].NATS.Cut() // so that nothing is decided before the room is gone
	h.room(t, roomy, roomy)
	for _, job := range refused {
		h.deliver(t, job)
	}
	h.deliver(t, named(11))
	last := h.deliver(t, named(12))
	h.room(t, roomy, tight)
	h.Workers["postprocess"].NATS.Mend()
	h.stuck(t)
	r.killed()
	if status, err := h.ledger.Status(t.Context(), last); err != nil || status.State != "running" {
		t.Errorf("the job whose verdicts have no room is %+v, %v", status, err)
	}
	syncRoad(t, h.gateway())
	h.room(t, roomy, roomy)
	h.close(t)
}

// room changes how many bytes inputs and verdicts may have, as an operator does it.
func (h *house) room(t *testing.T, backlog, verdicts string) {
	t.Helper()
	h.gateway().Restart("--jobs-backlog-bytes", backlog, "--jobs-verdict-bytes", verdicts)
	testkit.Eventually(t, within, "the gateway is back", func() bool { return h.gateway().Ready() && h.ledger.Takes(t.Context()) })
}

// stuck waits until no more verdict is stored.
func (h *house) stuck(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, within, "no more verdict is stored", func() bool {
		before, err := ledger.Verdicts(t.Context(), h.Nodes[0].URL())
		time.Sleep(3 * time.Second)
		now, again := ledger.Verdicts(t.Context(), h.Nodes[0].URL())
		return err == nil && again == nil && now == before
	})
}

// disk is a file system of its own in memory, which goes with a process that holds
// it: nothing has to be unmounted.
func disk(t *testing.T, size string) string {
	t.Helper()
	holder := exec.CommandContext(t.Context(), "unshare", "--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs -o size="+size+" none /mnt && echo mounted && exec sleep infinity")
	holder.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said := &strings.Builder{}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	holder.Stderr = said
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = holder.Process.Kill()
		_ = holder.Wait() // it says "killed"
	})
	if _, err := out.Read(make([]byte, len("mounted\n"))); err != nil {
		t.Fatalf("no file system in memory: %v %s", err, said)
	}
	return filepath.Join("/proc", strconv.Itoa(holder.Process.Pid), "root", "mnt")
}

// fullDisk has somebody else fill the disk on which NATS stores.
func fullDisk(t *testing.T, r *run) {
	dir := disk(t, "64m")
	h := open(t, r, stack.Options{NATS: natsd.Options{Directory: filepath.Join(dir, "nats")}})
	l := h.begin(t, spots.Slow)
	h.progress(t, jobItems)
	l.end()
	l = h.begin(t, spots.Slow)
	ballast := filepath.Join(dir, "ballast")
	h.fillDisk(t, ballast)
	r.killed()
	reply := ledger.Reply{}
	testkit.Eventually(t, within, "new jobs are refused", func() bool {
		reply = h.ledger.Send(t.Context(), 0, ledger.Job{Model: spots.Model, Items: ledger.Pictures(3000, jobItems)})
		return reply.Status == http.StatusTooManyRequests || reply.Status == http.StatusServiceUnavailable
	})
	r.note("refused with %d: %s", reply.Status, strings.TrimSpace(reply.Body))
	syncRoad(t, h.gateway())
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	h.Nodes[0].Restart() // it does not store any more before somebody does this
	l.end()
	h.close(t)
}

// fillDisk writes until nothing more goes in.
func (h *house) fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 1} {
		for block := make([]byte, size); err == nil; {
			_, err = f.Write(block)
		}
		if size > 1 {
			err = nil
		}
	}
}
