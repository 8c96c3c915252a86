// Package embedded runs a NATS server with JetStream in the process itself, for
// `triptych up` and for tests. Every write is synced before it is acknowledged. It
// is no cluster.
package embedded

import (
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"triptych/shared/failure"
)

// Config is where the server keeps what is published, and where it listens.
type Config struct {
	// Directory is made when it is absent.
	Directory string
	// Address is where others may connect; empty for this process alone.
	Address string
	// MaxBytes bounds the files; 0 leaves it to the server.
	MaxBytes int64
}

// Server is a running server. Safe for concurrent use.
type Server struct{ server *server.Server }

// startTimeout bounds the reading of what was kept.
const startTimeout = 60 * time.Second

// Start runs a server until Stop.
func Start(cfg Config) (*Server, error) {
	options := &server.Options{
		ServerName: "triptych", JetStream: true, StoreDir: cfg.Directory, JetStreamMaxStore: cfg.MaxBytes,
		SyncAlways: true, NoSigs: true, NoLog: true, DontListen: cfg.Address == "",
	}
	if cfg.Address != "" {
		host, port, err := net.SplitHostPort(cfg.Address)
		if err != nil {
			return nil, failure.Wrap(err, failure.Invalid, "the address %q of the NATS server is not HOST:PORT", cfg.Address)
		}
		options.Host = host
		if options.Port, err = net.LookupPort("tcp", port); err != nil {
			return nil, failure.Wrap(err, failure.Invalid, "the address %q of the NATS server has no port", cfg.Address)
		}
		if options.Port == 0 {
			options.Port = server.RANDOM_PORT
		}
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "the NATS server can't be made")
	}
	s.Start()
	if !s.ReadyForConnections(startTimeout) {
		s.Shutdown()
		return nil, failure.New(failure.Unavailable, "the NATS server was not ready within %s: is its directory %q in use?", startTimeout, cfg.Directory)
	}
	return &Server{s}, nil
}

// InProcessConn connects within the process. It makes the server a
// nats.InProcessConnProvider.
func (s *Server) InProcessConn() (net.Conn, error) { return s.server.InProcessConn() }

// URL is where others connect.
func (s *Server) URL() string { return s.server.ClientURL() }

// Stop ends the server, and returns when its files are closed.
func (s *Server) Stop() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}
