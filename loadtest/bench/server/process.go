package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

const (
	startTime = 2 * time.Minute
	stopTime  = 20 * time.Second
	poll      = 20 * time.Millisecond
)

// Process is a command of the shell that runs, with all that it started.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// Run starts a command of the shell, which must stay in the foreground. What it
// says goes to log.
func Run(command string, log io.Writer) (*Process, error) {
	// Not bound to a context: an end must be orderly, by Stop.
	cmd := exec.Command("bash", "-c", command) //nolint:noctx // see above
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %q: %w", command, err)
	}
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is not what is measured
		close(p.ended)
	}()
	return p, nil
}

// Await polls until the process does what is asked, has ended or has had its time.
func (p *Process) Await(ctx context.Context, what string, yes func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for !yes(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the server to %s: %w", what, ctx.Err())
		case <-p.ended:
			return errors.New("the server has ended: its log says why")
		case <-ticker.C:
		}
	}
	return nil
}

// Stop ends the process and all that it started. It may be called again.
func (p *Process) Stop() error {
	p.signal(syscall.SIGTERM)
	if !p.gone() {
		p.signal(syscall.SIGKILL)
	}
	<-p.ended
	return nil
}

// gone waits for all of the group, of which a shell may be the first to end.
func (p *Process) gone() bool {
	for deadline := time.Now().Add(stopTime); time.Now().Before(deadline); time.Sleep(poll) {
		if syscall.Kill(-p.cmd.Process.Pid, 0) != nil {
			return true
		}
	}
	return false
}

// signal reaches the group of the process: a shell may stand before the server.
func (p *Process) signal(signal syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, signal) // may be gone already
}
