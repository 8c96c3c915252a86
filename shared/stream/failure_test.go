package stream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/testkit/natstest"
)

// plain is a connection to a server with one small stream of each kind of limit.
func plain(t *testing.T) jetstream.JetStream {
	t.Helper()
	js := natstest.Connect(t, natstest.In(natstest.Server(t))).JetStream()
	for _, cfg := range []jetstream.StreamConfig{
		{Name: "BYTES", Subjects: []string{"bytes"}, MaxBytes: 1000, Discard: jetstream.DiscardNew},
		{Name: "MESSAGES", Subjects: []string{"messages"}, MaxMsgs: 1, Discard: jetstream.DiscardNew},
		{Name: "EACH", Subjects: []string{"each"}, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true},
		{Name: "SIZE", Subjects: []string{"size"}, MaxMsgSize: 100},
		{Name: "MEMORY", Subjects: []string{"memory"}, MaxBytes: 1000, Discard: jetstream.DiscardNew, Storage: jetstream.MemoryStorage},
	} {
		if _, err := js.CreateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	return js
}

// What NATS itself says, each by a real server.
func TestFailuresOfNATS(t *testing.T) {
	t.Parallel()
	js := plain(t)
	publish := func(subject string, size int, options ...jetstream.PublishOpt) error {
		_, err := js.Publish(t.Context(), subject, make([]byte, size), options...)
		return err
	}
	for _, subject := range []string{"messages", "each", "bytes"} {
		if err := publish(subject, 100); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		act  func() error
		want failure.Kind
		text string
	}{
		"full of bytes":            {func() error { return publish("bytes", 900) }, failure.Busy, "the job store is full"},
		"full of bytes in memory":  {func() error { return errors.Join(publish("memory", 900), publish("memory", 900)) }, failure.Busy, "the job store is full"},
		"full of messages":         {func() error { return publish("messages", 1) }, failure.Busy, "the job store is full"},
		"full for a subject":       {func() error { return publish("each", 1) }, failure.Busy, "the job store is full"},
		"larger than a stream":     {func() error { return publish("size", 101) }, failure.TooLarge, "a message is larger than NATS takes"},
		"larger than the server":   {func() error { return publish("bytes", 1<<20+1) }, failure.TooLarge, "a message is larger than NATS takes"},
		"written since":            {func() error { return publish("bytes", 1, jetstream.WithExpectLastSequencePerSubject(7)) }, failure.Conflict, "it was written since"},
		"written since, of all":    {func() error { return publish("bytes", 1, jetstream.WithExpectLastSequence(7)) }, failure.Conflict, "it was written since"},
		"another stream":           {func() error { return publish("bytes", 1, jetstream.WithExpectStream("OTHER")) }, failure.Unavailable, "NATS refuses what it was asked for: expected stream does not match"},
		"nobody":                   {func() error { return publish("nobody", 1) }, failure.Unavailable, "the job store does not answer"},
		"no stream":                {func() error { _, err := js.Stream(t.Context(), "NONE"); return err }, failure.NotFound, "it is not there"},
		"no consumer":              {func() error { _, err := js.Consumer(t.Context(), "BYTES", "none"); return err }, failure.NotFound, "it is not there"},
		"no stream for a consumer": {func() error { _, err := js.Consumer(t.Context(), "NONE", "none"); return err }, failure.NotFound, "it is not there"},
		"no bucket":                {func() error { _, err := js.KeyValue(t.Context(), "none"); return err }, failure.NotFound, "it is not there"},
		"no object store":          {func() error { _, err := js.ObjectStore(t.Context(), "none"); return err }, failure.NotFound, "it is not there"},
		"no message": {func() error {
			s, err := js.Stream(t.Context(), "BYTES")
			if err != nil {
				return err
			}
			_, err = s.GetMsg(t.Context(), 99)
			return err
		}, failure.NotFound, "it is not there"},
	}
	for name, test := range tests {
		err := stream.Failure(test.act())
		if err == nil || failure.KindOf(err) != test.want || failure.Message(err) != test.text {
			t.Errorf("%s: got %s %q, want %s %q (%v)", name, failure.KindOf(err), failure.Message(err), test.want, test.text, err)
		}
	}
}

func TestFailuresOfKeys(t *testing.T) {
	t.Parallel()
	c := made(t)
	kv, err := c.JetStream().KeyValue(t.Context(), stream.Records)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Create(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	if err := kv.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Create(t.Context(), "b", nil); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		act  func() error
		want failure.Kind
	}{
		"absent":     {func() error { _, err := kv.Get(t.Context(), "absent"); return err }, failure.NotFound},
		"deleted":    {func() error { _, err := kv.Get(t.Context(), "a"); return err }, failure.NotFound},
		"there":      {func() error { _, err := kv.Create(t.Context(), "b", nil); return err }, failure.Conflict},
		"changed":    {func() error { _, err := kv.Update(t.Context(), "b", nil, 99); return err }, failure.Conflict},
		"not so old": {func() error { return kv.Delete(t.Context(), "b", jetstream.LastRevision(99)) }, failure.Conflict},
	}
	for name, test := range tests {
		if err := stream.Failure(test.act()); err == nil || failure.KindOf(err) != test.want {
			t.Errorf("%s: got %s %v, want %s", name, failure.KindOf(err), err, test.want)
		}
	}
}

// What a server of one's own does not say by itself.
func TestFailuresBeside(t *testing.T) {
	t.Parallel()
	api := func(status, code int, text string) error {
		return fmt.Errorf("nats: %w", &jetstream.APIError{Code: status, ErrorCode: jetstream.ErrorCode(code), Description: text})
	}
	known := failure.New(failure.Invalid, "known")
	tests := map[string]struct {
		err  error
		want failure.Kind
	}{
		"account's limits":             {api(503, 10002, "resource limits exceeded for account"), failure.Busy},
		"server's limits":              {api(503, 10023, "insufficient resources"), failure.Busy},
		"no memory to set aside":       {api(500, 10028, "insufficient memory resources available"), failure.Busy},
		"no disk to set aside":         {api(500, 10047, "insufficient storage resources available"), failure.Busy},
		"full":                         {api(503, 10077, "maximum bytes exceeded"), failure.Busy},
		"too large to store":           {api(503, 10077, "message too large"), failure.TooLarge},
		"too large for the stream":     {api(400, 10054, "message size exceeds maximum allowed"), failure.TooLarge},
		"a cluster's other code":       {api(400, 10164, "wrong last sequence"), failure.Conflict},
		"off":                          {api(503, 10076, "jetstream not enabled"), failure.Unavailable},
		"off for the account":          {api(503, 10039, "jetstream not enabled for account"), failure.Unavailable},
		"no leader":                    {api(503, 10008, "jetstream system temporarily unavailable"), failure.Unavailable},
		"sealed":                       {api(400, 10109, "invalid operation on sealed stream"), failure.Unavailable},
		"late":                         {nats.ErrTimeout, failure.Unavailable},
		"not in time":                  {context.DeadlineExceeded, failure.Unavailable},
		"closed":                       {nats.ErrConnectionClosed, failure.Unavailable},
		"no room to wait":              {nats.ErrReconnectBufExceeded, failure.Unavailable},
		"lost":                         {nats.ErrDisconnected, failure.Unavailable},
		"no ack":                       {jetstream.ErrAsyncPublishTimeout, failure.Unavailable},
		"too much at once":             {jetstream.ErrTooManyStalledMsgs, failure.Busy},
		"not let in":                   {nats.ErrAuthorization, failure.Unavailable},
		"the caller has gone":          {context.Canceled, failure.Cancelled},
		"known":                        {fmt.Errorf("act: %w", known), failure.Invalid},
		"a consumer that was deleted":  {jetstream.ErrConsumerDeleted, failure.NotFound},
		"something that was never met": {errors.New("what"), failure.Unavailable},
	}
	for name, test := range tests {
		err := stream.Failure(test.err)
		if failure.KindOf(err) != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: got %s %v, want %s", name, failure.KindOf(err), err, test.want)
		}
	}
	if err := stream.Failure(nil); err != nil {
		t.Errorf("nothing is %v", err)
	}
}

func TestWithoutJetStream(t *testing.T) {
	t.Parallel()
	_, url := natstest.Outer(t, func(o *server.Options) { o.JetStream = false })
	c := natstest.Connect(t, func(c *stream.Config) { c.URL = url })
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Ensure(t.Context()); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := c.JetStream().Publish(ctx, "a", nil)
	if err := stream.Failure(err); err == nil || failure.KindOf(err) != failure.Unavailable {
		t.Errorf("a publish gives %v", err)
	}
}

// NAT-02: sizes about the server's limit, with and without what travels in headers:
// stored whole as blobs, and in a message only when it fits with its headers.
func TestSizesAboutTheLimit(t *testing.T) {
	t.Parallel()
	c := made(t)
	for _, size := range []int{1_000_000, 1_048_576, 1_048_577, 8_000_000} {
		for _, h := range []nats.Header{nil, {"traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}} {
			name := fmt.Sprintf("%d bytes, %d headers", size, len(h))
			data := make([]byte, size)
			_, err := c.JetStream().PublishMsg(t.Context(), &nats.Msg{Subject: stream.InputSubject("j", "0"), Header: h, Data: data})
			fits := size < 1<<20 || size == 1<<20 && h == nil
			switch err := stream.Failure(err); {
			case fits && err != nil:
				t.Errorf("%s: %v", name, err)
			case !fits && (err == nil || failure.KindOf(err) != failure.TooLarge):
				t.Errorf("%s: got %v, want TooLarge", name, err)
			}
		}
		blob, err := c.PutBlob(t.Context(), stream.Blobs, fmt.Sprint(size), make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		if data, err := c.GetBlob(t.Context(), blob, 0); len(data) != size || err != nil {
			t.Errorf("%d bytes of %d, %v", len(data), size, err)
		}
	}
}
