package stream_test

import (
	"strings"
	"testing"
	"time"

	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*stream.Config)
		want   string
	}{
		"default":       {func(*stream.Config) {}, ""},
		"servers":       {func(c *stream.Config) { c.URL = "nats://a:4222, tls://user:word@b, c:4222,wss://d" }, ""},
		"no server":     {func(c *stream.Config) { c.URL = "nats://a,,b" }, "--nats-url has an empty place"},
		"scheme":        {func(c *stream.Config) { c.URL = "http://a" }, `--nats-url names "http://a"`},
		"no host":       {func(c *stream.Config) { c.URL = "nats://" }, `--nats-url names "nats:"`},
		"unreadable":    {func(c *stream.Config) { c.URL = "nats://a:b:c" }, "--nats-url"},
		"no key":        {func(c *stream.Config) { c.Certificate = "a" }, "--nats-certificate and --nats-key go together"},
		"no cert":       {func(c *stream.Config) { c.Key = "a" }, "--nats-certificate and --nats-key go together"},
		"replicas":      {func(c *stream.Config) { c.Limits.Replicas = 2 }, "--jobs-replicas is 2"},
		"backlog":       {func(c *stream.Config) { c.Limits.BacklogBytes = 1 }, "--jobs-backlog-bytes is 1"},
		"objects":       {func(c *stream.Config) { c.Limits.BlobBytes = 1 }, "--jobs-object-bytes is 1"},
		"verdicts":      {func(c *stream.Config) { c.Limits.VerdictBytes = 1 }, "--jobs-verdict-bytes is 1"},
		"dead":          {func(c *stream.Config) { c.Limits.DeadBytes = 1 }, "--jobs-dead-bytes is 1"},
		"records":       {func(c *stream.Config) { c.Limits.RecordBytes = 1 }, "--jobs-record-bytes is 1"},
		"notes":         {func(c *stream.Config) { c.Limits.NoteBytes = 1 }, "--jobs-note-bytes is 1"},
		"steps":         {func(c *stream.Config) { c.Limits.StepBytes = 1 }, "--jobs-step-bytes is 1"},
		"tasks":         {func(c *stream.Config) { c.Limits.StepMessages = 1 }, "--jobs-step-messages is 1"},
		"inline":        {func(c *stream.Config) { c.Limits.InlineBytes = 0 }, "--jobs-inline-bytes is 0"},
		"ack wait":      {func(c *stream.Config) { c.Limits.AckWait = time.Millisecond }, "--jobs-ack-wait is 1ms"},
		"retention":     {func(c *stream.Config) { c.Limits.Retention = time.Second }, "--jobs-retention is 1s"},
		"no such limit": {func(c *stream.Config) { c.Limits.Replicas = 3 }, ""},
	}
	for name, test := range tests {
		c := stream.DefaultConfig()
		test.change(&c)
		err := c.Validate()
		if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(failure.Message(err), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	if _, err := stream.Connect(stream.DefaultConfig(), "test", telemetry.Discard()); failure.KindOf(err) != failure.Unsupported {
		t.Errorf("got %v", err)
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	t.Parallel()
	c := stream.Config{URL: "nats://me:secret@a:4222, b:4222,tls://token@c"}
	if got := c.Servers(); strings.Contains(got, "secret") || !strings.HasPrefix(got, "nats://me:xxxxx@a:4222,") {
		t.Errorf("it is %q", got)
	}
}
