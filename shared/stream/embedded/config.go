package embedded

import (
	"log/slog"
	"net"
	"strconv"
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
	// MaxBytes bounds the files, all together; 0: what is free, less the reserve.
	MaxBytes int64
	// Reserve is what is left free on the disk; 0: a twentieth of it, but from 64 MiB
	// to 1 GiB.
	Reserve int64
	// MaxMemory bounds what is kept in memory; 0: three quarters of the machine's.
	MaxMemory int64
	// Look is the pause between two looks at the server's state; 0: a second.
	Look time.Duration
	// Logger is told of what goes wrong; nil for nobody.
	Logger *slog.Logger
}

func (c *Config) options() (*server.Options, error) {
	if c.Look <= 0 {
		c.Look = time.Second
	}
	options := &server.Options{
		ServerName: "triptych", JetStream: true, StoreDir: c.Directory, JetStreamMaxMemory: c.MaxMemory,
		SyncAlways: true, NoSigs: true, DisableJetStreamBanner: true, DontListen: c.Address == "",
	}
	if c.Address == "" {
		return options, nil
	}
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "the address %q of the NATS server is not HOST:PORT", c.Address)
	}
	options.Host = host
	if options.Port, err = strconv.Atoi(port); err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "the address %q of the NATS server has no port", c.Address)
	}
	if options.Port == 0 {
		options.Port = server.RANDOM_PORT
	}
	return options, nil
}
