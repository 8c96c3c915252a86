package jobs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"triptych/loadtest/bench/jobs/api"
	"triptych/loadtest/bench/server"
	"triptych/loadtest/bench/stack"
)

// system is all of it, each part a process of its own.
type system struct {
	*stack.Stack
	nats   *server.Process
	jobs   *api.Client
	folder string // what NATS keeps
}

// with runs a new system while f runs.
func (b *runner) with(ctx context.Context, f func(*system) error) error {
	s := &system{}
	err := b.start(ctx, s)
	if err == nil {
		err = f(s)
	}
	return errors.Join(err, s.stop())
}

func (b *runner) start(ctx context.Context, s *system) error {
	url, err := b.startNATS(ctx, s)
	if err != nil {
		return err
	}
	s.Stack, err = stack.Start(ctx, stack.Options{Binaries: b.binaries, Repository: b.repository(), Flags: []string{"--nats-url", url}, Log: b.Log}, model)
	if err != nil {
		return err
	}
	s.jobs = api.New(s.Web)
	return s.ready(ctx)
}

// natsConfig is a server that syncs each write before it is acknowledged.
const natsConfig = `listen: %q
jetstream {
  store_dir: %q
  sync_interval: always
}
`

func (b *runner) startNATS(ctx context.Context, s *system) (url string, err error) {
	address, err := server.Free(ctx)
	if err != nil {
		return "", err
	}
	if s.folder, err = os.MkdirTemp(b.folder, "nats"); err != nil {
		return "", err
	}
	file := filepath.Join(s.folder, "nats.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, natsConfig, address, s.folder), 0o600); err != nil {
		return "", err
	}
	if s.nats, err = server.Run(server.Command(b.nats, "--config", file), b.Log); err != nil {
		return "", err
	}
	return "nats://" + address, s.nats.Await(ctx, "listen", func(ctx context.Context) bool {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
}

// gateway is where both roads begin.
func (s *system) gateway() *server.Server { return s.Gateway.Server() }

// ready waits until the road of jobs is open too, and sends one along.
func (s *system) ready(ctx context.Context) error {
	if err := s.gateway().Await(ctx, "know jobs", func(ctx context.Context) bool {
		_, err := s.jobs.List(ctx)
		return err == nil
	}); err != nil {
		return err
	}
	image, err := tiny()
	if err != nil {
		return err
	}
	_, _, err = s.timed(ctx, [][]byte{image}, warmItems)
	time.Sleep(settle)
	return err
}

const (
	// warmItems are sent before anything is measured.
	warmItems = 32
	// settle is how long a new stack is left alone.
	settle = time.Second
	// poll is the pause between two looks at a job.
	poll = 50 * time.Millisecond
)

// timed sends a job and waits until each item has its verdict. All must be good. It
// says after which time the job was accepted.
func (s *system) timed(ctx context.Context, images [][]byte, items int) (job api.Status, accepted time.Duration, err error) {
	start := time.Now()
	if job, err = s.jobs.Submit(ctx, model, api.NewForm(images, items)); err != nil {
		return job, 0, err
	}
	accepted = time.Since(start)
	job, err = s.jobs.Until(ctx, job.ID, poll, func(s api.Status) bool { return s.Counts.Pending == 0 })
	if err == nil && job.Counts.Succeeded != items {
		err = fmt.Errorf("of %d items this became: %+v", items, job.Counts)
	}
	return job, accepted, err
}

func (s *system) stop() error {
	if s.jobs != nil {
		s.jobs.Close()
	}
	var errs []error
	if s.Stack != nil {
		errs = append(errs, s.Stack.Stop())
	}
	if s.nats != nil {
		errs = append(errs, s.nats.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.folder))...)
}
