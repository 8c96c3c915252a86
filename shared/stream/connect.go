// Package stream is the project's side of NATS: a connection that never gives
// up, the streams and consumers that jobs need, the names of subjects, and bytes
// too large for a message. What a job is, it does not know: shared/jobs does.
package stream

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
	// ackTimeout bounds the wait for the server's word on what was published without
	// waiting. The server does not answer when it can't write.
	ackTimeout = 10 * time.Second
)

// Connection is one connection to NATS. Safe for concurrent use.
type Connection struct {
	config Config
	logger *slog.Logger
	nats   *nats.Conn
	js     jetstream.JetStream
	keeper *keeper
	doubt  doubt
	// closed is closed when the connection has ended, and ending is set when that was
	// asked for.
	closed chan struct{}
	ending atomic.Bool

	mu      sync.Mutex
	buckets map[string]*objects
}

// Connect makes a connection in the name of a service. It does not wait for the
// server: a connection that is away comes back by itself, however long it takes,
// and until then what is published is refused as Unavailable.
func Connect(cfg Config, service string, tel *telemetry.Telemetry) (*Connection, error) {
	if !cfg.Enabled() {
		return nil, failure.New(failure.Unsupported, "jobs are not enabled here: no --nats-url was given")
	}
	c := &Connection{config: cfg, logger: tel.Logger, closed: make(chan struct{}), buckets: map[string]*objects{}}
	c.keeper = newKeeper(c)
	var err error
	if c.nats, err = nats.Connect(cfg.URL, c.options(service)...); err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "NATS can't be reached with these settings: %s", err)
	}
	js, err := jetstream.New(c.nats, jetstream.WithPublishAsyncTimeout(ackTimeout), jetstream.WithPublishAsyncErrHandler(
		func(_ jetstream.JetStream, msg *nats.Msg, err error) { c.doubt.note(msg.Subject, ackTimeout, err) }))
	if err != nil {
		c.Close()
		return nil, failure.Wrap(err, failure.Internal, "JetStream can't be used")
	}
	c.js = &observed{js, &c.doubt}
	return c, nil
}

func (c *Connection) options(service string) []nats.Option {
	return append(c.config.security(),
		nats.Name("triptych-"+service),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		// Credentials that are wrong now may be replaced: their file is read each time.
		nats.IgnoreAuthErrorAbort(),
		// Nothing is kept for later: a publish that can't be sent now is told so.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(pingsLost),
		nats.DrainTimeout(drainTimeout),
		nats.ConnectHandler(func(*nats.Conn) { c.keeper.wake() }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.logger.Warn("the connection to NATS is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.logger.Info("connected to NATS again", "server", nc.ConnectedUrlRedacted())
			c.keeper.wake()
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			c.logger.Warn("NATS tells of an error", "subject", subject, "error", err)
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	)
}

// security is how the connection is made and who it says it is.
func (c *Config) security() []nats.Option {
	var options []nats.Option
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

// MaxPayload is the most bytes of one message, headers included, as the server
// says; 0 before the first connection.
func (c *Connection) MaxPayload() int64 { return c.nats.MaxPayload() }

// Close ends the connection. What was published is sent first. It may be called
// more than once.
func (c *Connection) Close() {
	c.ending.Store(true)
	c.nats.Close()
	<-c.closed
}
