package jobs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triptych/loadtest/bench/jobs/api"
	"triptych/loadtest/bench/server"
)

// stack is the whole system, each part a process of its own.
type stack struct {
	nats     *server.Process
	services map[string]*server.Server
	gateway  *server.Server
	jobs     *api.Client
	folder   string // what NATS keeps
}

// with runs a new stack while f runs.
func (b *runner) with(ctx context.Context, f func(*stack) error) error {
	s := &stack{services: map[string]*server.Server{}}
	err := b.start(ctx, s)
	if err == nil {
		err = f(s)
	}
	return errors.Join(err, s.stop())
}

func (b *runner) start(ctx context.Context, s *stack) error {
	url, err := b.startNATS(ctx, s)
	if err != nil {
		return err
	}
	common := []string{"--model-repository", b.repository(), "--nats-url", url}
	var upstreams []string
	for _, name := range []string{"preprocess", "predictor", "postprocess"} {
		service, err := server.StartOurs(ctx, b.binary(name), common, b.Log)
		if err != nil {
			return err
		}
		s.services[name] = service
		upstreams = append(upstreams, service.Address)
	}
	address, err := server.Free(ctx)
	if err != nil {
		return err
	}
	flags := slices.Concat(common, []string{"--http-address", address, "--upstreams", strings.Join(upstreams, ",")})
	if s.gateway, err = server.StartOurs(ctx, b.binary("gateway"), flags, b.Log); err != nil {
		return err
	}
	s.services["gateway"] = s.gateway
	s.jobs = api.New(address)
	return s.ready(ctx)
}

// natsConfig is a server that syncs each write before it is acknowledged.
const natsConfig = `listen: %q
jetstream {
  store_dir: %q
  sync_interval: always
}
`

func (b *runner) startNATS(ctx context.Context, s *stack) (url string, err error) {
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

// ready waits until both roads are open, and sends a job along.
func (s *stack) ready(ctx context.Context) error {
	if err := s.gateway.Ready(ctx, model); err != nil {
		return err
	}
	if err := s.gateway.Await(ctx, "know jobs", func(ctx context.Context) bool {
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
func (s *stack) timed(ctx context.Context, images [][]byte, items int) (job api.Status, accepted time.Duration, err error) {
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

func (s *stack) stop() error {
	if s.jobs != nil {
		s.jobs.Close()
	}
	var errs []error
	for _, service := range s.services {
		errs = append(errs, service.Stop())
	}
	if s.nats != nil {
		errs = append(errs, s.nats.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.folder))...)
}
