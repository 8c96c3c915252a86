package scheduling_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"triptych/shared/scheduling"
)

// child makes this program, run again, print the policies of its threads.
const child = "TRIPTYCH_TEST_SCHEDULING"

// The class belongs to a process, so each case has one of its own.
func TestApply(t *testing.T) {
	if class := os.Getenv(child); class != "" {
		policies(t, class)
		return
	}
	for name, tt := range map[string]struct {
		class string
		want  int
	}{
		"batch":  {scheduling.Batch, unix.SCHED_BATCH},
		"normal": {scheduling.Normal, unix.SCHED_NORMAL},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestApply$")
			cmd.Env = append(os.Environ(), child+"="+tt.class)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			seen := 0
			for line := range strings.Lines(string(out)) {
				if policy, found := strings.CutPrefix(strings.TrimSpace(line), "policy "); found {
					seen++
					if policy != strconv.Itoa(tt.want) {
						t.Errorf("a thread has policy %s, want %d", policy, tt.want)
					}
				}
			}
			if seen < 2 {
				t.Errorf("%d threads were seen:\n%s", seen, out)
			}
		})
	}
}

// policies applies the class and prints what the threads have, with one that was
// started later.
func policies(t *testing.T, class string) {
	t.Helper()
	cfg := scheduling.Config{Class: class}
	if err := cfg.Apply(); err != nil {
		t.Fatal(err)
	}
	if err := cfg.Apply(); err != nil { // again changes nothing
		t.Fatal(err)
	}
	later := make(chan error)
	go func() { // a call that blocks makes the runtime start a thread
		later <- unix.Nanosleep(&unix.Timespec{Nsec: 5e7}, nil)
	}()
	<-later
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		attributes, err := unix.SchedGetAttr(id, 0)
		if err != nil {
			continue // it has ended
		}
		println("policy " + strconv.Itoa(int(attributes.Policy)))
	}
}

func TestConfig(t *testing.T) {
	for class, good := range map[string]bool{"batch": true, "normal": true, "": false, "fifo": false} {
		cfg := scheduling.Config{Class: class}
		if err := cfg.Validate(); (err == nil) != good || (err != nil && !strings.Contains(err.Error(), "--scheduling")) {
			t.Errorf("%q: %v", class, err)
		}
	}
	if cfg := scheduling.DefaultConfig(); cfg.Validate() != nil {
		t.Error("the default is wrong")
	}
}
