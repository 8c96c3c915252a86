// Package process runs the programs of the services for tests: as processes of
// their own, that can be killed, stopped and started again at the same ports. Only
// tests import it.
package process

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"triptych/shared/testkit"
)

// Process is one program, whether it runs or not. Its methods are safe for
// concurrent use, except that Start is for the test's own goroutine.
type Process struct {
	tb   testing.TB
	path string
	args []string
	// Admin is where /readyz and /livez are asked; empty for a program without them.
	Admin string
	// Environ is added to the test's own environment.
	Environ []string

	mu      sync.Mutex
	running *running
	logs    logs
}

// running is one life of a process.
type running struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of Wait, once ended is closed
}

// logs keeps what a process wrote, for when a test fails.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// mostLogs bounds what is kept of a process; what came first is kept.
const mostLogs = 4 << 20

// Write implements io.Writer.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() < mostLogs {
		l.b.Write(p)
	}
	return len(p), nil
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// New makes a process that does not run yet. When the test ends it is terminated as
// an operator does it, which must go well; what it wrote is shown if the test failed.
func New(tb testing.TB, path string, args ...string) *Process {
	tb.Helper()
	p := &Process{tb: tb, path: path, args: args}
	tb.Cleanup(func() {
		p.Terminate()
		if tb.Failed() {
			tb.Logf("%s wrote:\n%s", filepath.Base(path), p.logs.String())
		}
	})
	return p
}

// NewService makes a process of a service whose gRPC port is given, with an admin
// port of its own.
func NewService(tb testing.TB, programs, name, grpc string, args ...string) *Process {
	tb.Helper()
	admin := Address(tb)
	p := New(tb, filepath.Join(programs, name), append([]string{"--grpc-address", grpc, "--admin-address", admin}, args...)...)
	p.Admin = admin
	return p
}

// Start runs the program. The process dies with the test's own.
func (p *Process) Start() {
	p.tb.Helper()
	cmd := exec.Command(p.path, p.args...) //nolint:noctx // it is killed and terminated by hand
	cmd.Stdout, cmd.Stderr = &p.logs, &p.logs
	cmd.Dir = testkit.Root(p.tb)
	cmd.Env = append(os.Environ(), p.Environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		p.tb.Fatal(err)
	}
	r := &running{cmd: cmd, ended: make(chan struct{})}
	go func() {
		r.err = cmd.Wait()
		close(r.ended)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = r
}

// SetArgs changes the arguments of the next Start.
func (p *Process) SetArgs(args ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.args = args
}

// Args are the arguments of the program.
func (p *Process) Args() []string { return p.args }

func (p *Process) life() *running {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// take gives the present life to the one who ends it.
func (p *Process) take() *running {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.running
	p.running = nil
	return r
}

// Kill ends the process as a crash does, and returns when it has ended. One that
// does not run is left so.
func (p *Process) Kill() {
	if r := p.take(); r != nil {
		_ = r.cmd.Process.Kill() // an error says that it has ended
		<-r.ended
	}
}

// terminateTimeout bounds how long a process may take to end when it is told to.
const terminateTimeout = 60 * time.Second

// Terminate ends the process as an operator does, which must go well.
func (p *Process) Terminate() {
	p.tb.Helper()
	r := p.take()
	if r == nil {
		return
	}
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		p.tb.Errorf("%s has ended by itself: %v", filepath.Base(p.path), err)
	}
	select {
	case <-r.ended:
		if r.err != nil {
			p.tb.Errorf("%s ended with %v", filepath.Base(p.path), r.err)
		}
	case <-time.After(terminateTimeout):
		_ = r.cmd.Process.Kill()
		<-r.ended
		p.tb.Errorf("%s had not ended after %s", filepath.Base(p.path), terminateTimeout)
	}
}

// Signal sends the process a signal, such as SIGSTOP.
func (p *Process) Signal(s os.Signal) {
	p.tb.Helper()
	r := p.life()
	if r == nil {
		p.tb.Errorf("%s does not run", filepath.Base(p.path))
		return
	}
	if err := r.cmd.Process.Signal(s); err != nil {
		p.tb.Errorf("%s: %v", filepath.Base(p.path), err)
	}
}

// Alive tells whether the process still runs.
func (p *Process) Alive() bool {
	r := p.life()
	if r == nil {
		return false
	}
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// Pid is the id of the process, 0 when it does not run.
func (p *Process) Pid() int {
	if r := p.life(); r != nil {
		return r.cmd.Process.Pid
	}
	return 0
}

// Logs are what the process has written so far, in all its lives.
func (p *Process) Logs() string { return p.logs.String() }

// Ready tells whether the process says that it is ready.
func (p *Process) Ready() bool { return Status("http://"+p.Admin+"/readyz") == http.StatusOK }

// Live tells what a liveness probe would learn: false for a process that answers
// that it hangs.
func (p *Process) Live() bool {
	return Status("http://"+p.Admin+"/livez") != http.StatusServiceUnavailable
}

const probeTimeout = 2 * time.Second

// Status is the status of an answer to a GET, 0 when nobody answers in time.
func Status(url string) int {
	client := http.Client{Timeout: probeTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url) //nolint:noctx // bounded by the client
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
