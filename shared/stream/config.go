package stream

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Config is how NATS is reached and what is kept there.
type Config struct {
	// URL is one or more servers, with commas between. Empty: no jobs.
	URL string
	// Credentials is a file with a user's JWT and seed.
	Credentials string
	// CA verifies the servers; Certificate and Key are what they verify.
	CA, Certificate, Key string
	// InProcess is a server in this process, to be used instead of URL. No flag
	// sets it.
	InProcess nats.InProcessConnProvider
	// Follow leaves the limits of what is there as they are, and makes only what is
	// missing: one service, the gateway, applies its limits, for two with different
	// ones would undo each other's. No flag sets it.
	Follow bool
	Limits Limits
}

// Limits bound what JetStream keeps. Whoever makes streams applies them.
type Limits struct {
	// Replicas of every stream: 1, 3 or 5.
	Replicas int
	// BacklogBytes bounds the inputs of jobs, together.
	BacklogBytes int64
	// BlobBytes bounds the object store: inputs and answers above InlineBytes.
	BlobBytes int64
	// VerdictBytes bounds the verdicts of all jobs.
	VerdictBytes int64
	// DeadBytes bounds the dead letters.
	DeadBytes int64
	// RecordBytes bounds the records of jobs.
	RecordBytes int64
	// NoteBytes bounds, in memory, what running items must remember; and, once more,
	// their tensors that are too large for a message.
	NoteBytes int64
	// StepBytes and StepMessages bound the queue of one model's steps, in memory.
	StepBytes, StepMessages int64
	// AckWait is how long a task that nobody works on waits for its next delivery.
	AckWait time.Duration
	// InlineBytes is from what size an image lies in the object store.
	InlineBytes int
	// Retention is how long what has ended is kept.
	Retention time.Duration
}

// leastBytes is the least that a stream is of use with: one message.
const leastBytes = 1 << 20

var _ config.Section = (*Config)(nil)

// DefaultConfig reaches no server.
func DefaultConfig() Config {
	return Config{Limits: Limits{
		Replicas:     1,
		BacklogBytes: 2 << 30,
		BlobBytes:    2 << 30,
		VerdictBytes: 1 << 30,
		DeadBytes:    64 << 20,
		RecordBytes:  256 << 20,
		NoteBytes:    256 << 20,
		StepBytes:    128 << 20,
		StepMessages: 4096,
		AckWait:      30 * time.Second,
		InlineBytes:  256 << 10,
		Retention:    24 * time.Hour,
	}}
}

// Enabled tells whether there is a server to reach.
func (c *Config) Enabled() bool { return c.URL != "" || c.InProcess != nil }

// Servers is the URL without passwords.
func (c *Config) Servers() string {
	servers := strings.Split(c.URL, ",")
	for i, s := range servers {
		if u, err := url.Parse(strings.TrimSpace(s)); err == nil {
			servers[i] = u.Redacted()
		}
	}
	return strings.Join(servers, ",")
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.URL, "nats-url", c.URL, "NATS servers for jobs, with commas between, such as nats://nats:4222. Empty: no jobs.")
	fs.StringVar(&c.Credentials, "nats-credentials", c.Credentials, "File with the JWT and the seed of the NATS user.")
	fs.StringVar(&c.CA, "nats-ca", c.CA, "File with the certificates that verify the NATS servers.")
	fs.StringVar(&c.Certificate, "nats-certificate", c.Certificate, "File with the certificate that the NATS servers verify.")
	fs.StringVar(&c.Key, "nats-key", c.Key, "File with the key of that certificate.")
	l := &c.Limits
	fs.IntVar(&l.Replicas, "jobs-replicas", l.Replicas, "Copies of each stream: 1, or 3 or 5 on a cluster of NATS.")
	fs.Int64Var(&l.BacklogBytes, "jobs-backlog-bytes", l.BacklogBytes, "The most bytes of inputs that were accepted and are not done; beyond it new jobs are answered 429.")
	fs.Int64Var(&l.BlobBytes, "jobs-object-bytes", l.BlobBytes, "The most bytes in the object store: inputs and answers that are too large for a message.")
	fs.Int64Var(&l.VerdictBytes, "jobs-verdict-bytes", l.VerdictBytes, "The most bytes of results that are kept.")
	fs.Int64Var(&l.DeadBytes, "jobs-dead-bytes", l.DeadBytes, "The most bytes of dead letters.")
	fs.Int64Var(&l.RecordBytes, "jobs-record-bytes", l.RecordBytes, "The most bytes of records of jobs.")
	fs.Int64Var(&l.NoteBytes, "jobs-note-bytes", l.NoteBytes, "The most bytes, in the memory of NATS, of what running items must remember, and as many again of tensors that are too large for a message.")
	fs.Int64Var(&l.StepBytes, "jobs-step-bytes", l.StepBytes, "The most bytes of tasks that wait for one model.")
	fs.Int64Var(&l.StepMessages, "jobs-step-messages", l.StepMessages, "The most tasks that wait for one model.")
	fs.DurationVar(&l.AckWait, "jobs-ack-wait", l.AckWait, "How long a task is left to a worker that no longer says that it works on it.")
	fs.IntVar(&l.InlineBytes, "jobs-inline-bytes", l.InlineBytes, "From how many bytes an image goes to the object store.")
	fs.DurationVar(&l.Retention, "jobs-retention", l.Retention, "How long a job, its results and its dead letters are kept after its end.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if err := c.checkURL(); err != nil {
		return err
	}
	if (c.Certificate == "") != (c.Key == "") {
		return config.Wrong("nats-certificate", "and --nats-key go together")
	}
	l := c.Limits
	if l.Replicas != 1 && l.Replicas != 3 && l.Replicas != 5 {
		return config.Wrong("jobs-replicas", "is %d, must be 1, 3 or 5", l.Replicas)
	}
	for _, b := range []struct {
		flag         string
		value, least int64
	}{
		{"jobs-backlog-bytes", l.BacklogBytes, leastBytes},
		{"jobs-object-bytes", l.BlobBytes, leastBytes},
		{"jobs-verdict-bytes", l.VerdictBytes, leastBytes},
		{"jobs-dead-bytes", l.DeadBytes, leastBytes},
		{"jobs-record-bytes", l.RecordBytes, leastBytes},
		{"jobs-note-bytes", l.NoteBytes, leastBytes},
		{"jobs-step-bytes", l.StepBytes, leastBytes},
		{"jobs-step-messages", l.StepMessages, 16},
		{"jobs-inline-bytes", int64(l.InlineBytes), 1},
	} {
		if b.value < b.least {
			return config.Wrong(b.flag, "is %d, must be %d or more", b.value, b.least)
		}
	}
	if l.AckWait < time.Second {
		return config.Wrong("jobs-ack-wait", "is %s, must be 1s or more", l.AckWait)
	}
	if l.Retention < time.Minute {
		return config.Wrong("jobs-retention", "is %s, must be 1m or more", l.Retention)
	}
	return nil
}

// checkURL checks each server for itself. One without a scheme is NATS's own.
func (c *Config) checkURL() error {
	if c.URL == "" {
		return nil
	}
	for server := range strings.SplitSeq(c.URL, ",") {
		server = strings.TrimSpace(server)
		if server == "" {
			return config.Wrong("nats-url", "has an empty place between its commas")
		}
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		u, err := url.Parse(server)
		if err != nil {
			return config.Wrong("nats-url", "names a server that is no URL")
		}
		if !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) || u.Hostname() == "" {
			return config.Wrong("nats-url", "names %q, must be like nats://HOST:PORT or tls://HOST:PORT", u.Redacted())
		}
	}
	return nil
}
