package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Side is a process that does the work. It is not for concurrent use.
type Side struct {
	// Name is what people call it.
	Name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *json.Decoder
}

// closeTime is how long a side that is told to end may take.
const closeTime = 10 * time.Second

// Start runs the command of a side. What it says beside its answers goes to log.
// It is killed when ctx ends.
func Start(ctx context.Context, name string, command, environ []string, log io.Writer) (*Side, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the caller's own
	cmd.Env = append(os.Environ(), environ...)
	cmd.Stderr, cmd.WaitDelay = log, closeTime
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return &Side{Name: name, cmd: cmd, stdin: stdin, out: json.NewDecoder(stdout)}, nil
}

// Prepare gives the side its task.
func (s *Side) Prepare(task Task) (Prepared, error) {
	r, err := s.ask(order{Task: &task})
	if err == nil && r.Prepared == nil {
		err = fmt.Errorf("%s did not prepare", s.Name)
	}
	if err != nil {
		return Prepared{}, err
	}
	return *r.Prepared, nil
}

// Turn has the side work for a while, at least on one item.
func (s *Side) Turn(d time.Duration) (Turn, error) {
	r, err := s.ask(order{Seconds: d.Seconds()})
	if err == nil && (r.Turn == nil || r.Turn.Count < 1) {
		err = fmt.Errorf("%s did nothing in its turn", s.Name)
	}
	if err != nil {
		return Turn{}, err
	}
	return *r.Turn, nil
}

func (s *Side) ask(o order) (reply, error) {
	var r reply
	if err := json.NewEncoder(s.stdin).Encode(o); err != nil {
		return r, fmt.Errorf("ask %s: %w", s.Name, err)
	}
	if err := s.out.Decode(&r); err != nil {
		return r, fmt.Errorf("%s has ended, its log says why: %w", s.Name, err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("%s: %s", s.Name, r.Error)
	}
	return r, nil
}

// Close ends the process.
func (s *Side) Close() error { return errors.Join(s.stdin.Close(), s.cmd.Wait()) }
