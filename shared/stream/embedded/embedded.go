// Package embedded runs a NATS server with JetStream in the process itself, for
// `triptych up` and for tests. Every write is synced before it is acknowledged. It
// is no cluster.
package embedded

import (
	"context"
	"net"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"triptych/shared/failure"
)

// Server is a running server. Safe for concurrent use.
type Server struct {
	server *server.Server
	config Config
	log    *log
	lock   *os.File
	// maxStore is what JetStream may keep in files.
	maxStore int64
	health   health
	stop     context.CancelFunc
	watching sync.WaitGroup
	stopped  sync.Once
}

// startTimeout bounds the reading of what was kept.
const startTimeout = 60 * time.Second

// Start runs a server until Stop. A directory that another server uses is Conflict.
func Start(cfg Config) (*Server, error) {
	options, err := cfg.options()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Directory, 0o700); err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "the directory %q can't be made", cfg.Directory)
	}
	lock, err := lockDirectory(cfg.Directory)
	if err != nil {
		return nil, err
	}
	s := &Server{config: cfg, log: &log{logger: cfg.Logger}, lock: lock}
	if err := s.start(options); err != nil {
		s.unlock()
		return nil, err
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.watching.Go(func() { s.watch(ctx) })
	return s, nil
}

func (s *Server) start(options *server.Options) (err error) {
	if s.maxStore, err = s.config.room(); err != nil {
		return err
	}
	options.JetStreamMaxStore = s.maxStore
	if s.server, err = server.NewServer(options); err != nil {
		return failure.Wrap(err, failure.Invalid, "the NATS server can't be made")
	}
	s.server.SetLoggerV2(s.log, false, false, false)
	s.server.Start()
	if err := s.wait(); err != nil {
		s.server.Shutdown()
		s.server.WaitForShutdown()
		return err
	}
	return nil
}

// wait returns when the server has read what was kept and listens, or has given up.
func (s *Server) wait() error {
	const step = 100 * time.Millisecond
	for range startTimeout / step {
		if why := s.log.fatal(); why != "" {
			return failure.New(failure.Unavailable, "the NATS server can't start: %s", why)
		}
		if s.server.ReadyForConnections(step) {
			return nil
		}
	}
	return failure.New(failure.Unavailable, "the NATS server was not ready within %s", startTimeout)
}

// InProcessConn connects within the process. It makes the server a
// nats.InProcessConnProvider.
func (s *Server) InProcessConn() (net.Conn, error) { return s.server.InProcessConn() }

// URL is where others connect, when the server has an address.
func (s *Server) URL() string { return s.server.ClientURL() }

// MaxBytes is the most that the server keeps in files, all streams together.
func (s *Server) MaxBytes() int64 { return s.maxStore }

// Synced tells whether each write is synced to the disk before it is acknowledged.
func (s *Server) Synced() bool {
	cfg := s.server.JetStreamConfig()
	return cfg != nil && cfg.SyncAlways
}

// Stop ends the server, and returns when its files are closed. It may be called
// more than once.
func (s *Server) Stop() {
	s.stopped.Do(func() {
		s.stop()
		s.watching.Wait()
		s.finish()
		s.server.Shutdown()
		s.server.WaitForShutdown()
		s.unlock()
	})
}

// quiet bounds the wait for requests that are being worked on.
const quiet = 3 * time.Second

// finish waits until the server has done what it was asked for: a stream that is made
// while the server ends would be left open.
func (s *Server) finish() {
	const pause = 2 * time.Millisecond
	for range quiet / pause {
		info, err := s.server.Jsz(nil)
		if err != nil || info.Disabled || info.API.Inflight == 0 {
			return
		}
		time.Sleep(pause)
	}
}

// unlock lets others use the directory: closing the file drops the lock. There is
// nothing to be done about an error.
func (s *Server) unlock() { _ = s.lock.Close() }
