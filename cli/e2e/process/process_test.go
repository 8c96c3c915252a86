package process_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"triptych/cli/e2e/process"
	"triptych/shared/testkit"
)

// shell runs until it is interrupted, and then ends well.
func shell(t *testing.T) *process.Process {
	t.Helper()
	p := process.New(t, "/bin/sh", "-c", `trap 'exit 0' INT; echo up; while :; do sleep 0.05; done`)
	p.Start()
	testkit.Eventually(t, 10*time.Second, "it is up", func() bool { return strings.HasSuffix(p.Logs(), "up\n") })
	return p
}

func TestLives(t *testing.T) {
	p := shell(t)
	first := p.Pid()
	p.Signal(syscall.SIGSTOP)
	p.Kill()
	p.Kill()
	if p.Alive() || p.Pid() != 0 || p.Ready() {
		t.Error("it lives after its kill")
	}
	p.Start()
	testkit.Eventually(t, 10*time.Second, "it is up again", func() bool { return p.Logs() == "up\nup\n" })
	if !p.Alive() || p.Pid() == first {
		t.Errorf("it has the process id %d after %d", p.Pid(), first)
	}
	p.Terminate()
	p.Terminate()
	if p.Alive() {
		t.Error("it lives after its end")
	}
}

func TestOneThatEndsByItself(t *testing.T) {
	p := process.New(t, "/bin/true")
	p.Start()
	testkit.Eventually(t, 10*time.Second, "it has ended", func() bool { return !p.Alive() })
	p.Kill()
}
