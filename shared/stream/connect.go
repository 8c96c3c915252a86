// Package stream is the project's side of NATS: a connection that never gives
// up, the streams and consumers that jobs need, the names of subjects, and bytes
// too large for a message. What a job is, it does not know: shared/jobs does.
package stream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/app"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

const (
	reconnectWait   = 250 * time.Millisecond
	reconnectJitter = 250 * time.Millisecond
	// pingEvery and pingsLost tell of a server that went without a word within 10 s.
	pingEvery = 5 * time.Second
	pingsLost = 2
	// drainTimeout bounds what the connection still sends when it closes.
	drainTimeout = 5 * time.Second
)

// Connection is one connection to NATS. Safe for concurrent use.
type Connection struct {
	config Config
	nats   *nats.Conn
	js     jetstream.JetStream
}

// Connect makes a connection in the name of a service. It does not wait for the
// server: a connection that is away comes back by itself, however long it takes,
// and until then what is published is refused as Unavailable.
func Connect(cfg Config, service string, tel *telemetry.Telemetry) (*Connection, error) {
	if !cfg.Enabled() {
		return nil, failure.New(failure.Unsupported, "jobs are not enabled here: no --nats-url was given")
	}
	nc, err := nats.Connect(cfg.URL, cfg.options(service, tel)...)
	if err != nil {
		return nil, failure.Wrap(err, failure.Unavailable, "NATS can't be reached with these settings")
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, failure.Wrap(err, failure.Internal, "JetStream can't be used")
	}
	return &Connection{config: cfg, nats: nc, js: js}, nil
}

func (c *Config) options(service string, tel *telemetry.Telemetry) []nats.Option {
	options := []nats.Option{
		nats.Name("triptych-" + service),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		// Nothing is kept for later: a publish that can't be sent now is told so.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(pingsLost),
		nats.DrainTimeout(drainTimeout),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				tel.Logger.Warn("the connection to NATS is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { tel.Logger.Info("connected to NATS again", "server", nc.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			tel.Logger.Warn("NATS tells of an error", "error", err)
		}),
	}
	if c.InProcess != nil {
		options = append(options, nats.InProcessServer(c.InProcess))
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	if c.Certificate != "" {
		options = append(options, nats.ClientCert(c.Certificate, c.Key))
	}
	return options
}

// JetStream is the interface of the connection to streams.
func (c *Connection) JetStream() jetstream.JetStream { return c.js }

// Limits are what streams are made with.
func (c *Connection) Limits() Limits { return c.config.Limits }

// Ready says why nothing can be stored now: Unavailable when no server is
// connected.
func (c *Connection) Ready() error {
	if c.nats.Status() != nats.CONNECTED {
		return failure.New(failure.Unavailable, "NATS is not connected")
	}
	return nil
}

// MaxPayload is the most bytes of one message, headers included, as the server
// says; 0 before the first connection.
func (c *Connection) MaxPayload() int64 { return c.nats.MaxPayload() }

// Close ends the connection. What was published is sent first.
func (c *Connection) Close() { c.nats.Close() }

// Part closes the connection when a program ends.
func (c *Connection) Part() app.Part {
	return app.Part{Name: "NATS", Stop: func(context.Context) error {
		c.Close()
		return nil
	}}
}
