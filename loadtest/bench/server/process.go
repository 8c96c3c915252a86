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

// Process is a command of the shell that runs, with all that it started. It ends
// when the process that started it does, however that ends.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	said  said
}

// Run starts a command of the shell, which must stay in the foreground. What it
// says goes to log; where that is a file, an error shows the end of it.
func Run(command string, log io.Writer) (*Process, error) {
	// Not bound to a context: an end must be orderly, by Stop.
	cmd := exec.Command("bash", "-c", command) //nolint:noctx // see above
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	p := &Process{cmd: cmd, ended: make(chan struct{}), said: listen(log)}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %q: %w", command, err)
	}
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
			return fmt.Errorf("wait for the server to %s: %w%s", what, ctx.Err(), p.said.last())
		case <-p.ended:
			return errors.New("the server has ended: its log says why" + p.said.last())
		case <-ticker.C:
		}
	}
	return nil
}

// Ended tells whether the process is gone.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Stop ends the process and all that it started. It may be called again.
func (p *Process) Stop() error {
	_ = p.Signal(syscall.SIGTERM) // may be gone already
	if !p.gone() {
		_ = p.Kill() // as above
	}
	<-p.ended
	return nil
}

// Kill ends it at once, as a lack of memory would, and waits until it is gone. The
// ports are free then.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	<-p.ended
	return err
}

// Signal reaches the group of the process: a shell may stand before the server.
func (p *Process) Signal(signal syscall.Signal) error {
	if err := syscall.Kill(-p.cmd.Process.Pid, signal); err != nil {
		return fmt.Errorf("send %s: %w", signal, err)
	}
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
