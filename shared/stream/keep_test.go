package stream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/stream/embedded"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// kept is a connection that keeps its streams, as a program has it.
func kept(t *testing.T, change ...func(*stream.Config)) *stream.Connection {
	t.Helper()
	c := natstest.Connect(t, change...)
	part := c.Part()
	if err := part.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := part.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// serve runs a server at an address and a directory until it is stopped, or the test ends.
func serve(t *testing.T, address, directory string) *embedded.Server {
	t.Helper()
	return natstest.Server(t, func(c *embedded.Config) { c.Address, c.Directory = address, directory })
}

func ready(t *testing.T, c *stream.Connection) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, "the connection is ready", func() bool { return c.Ready() == nil })
}

// A program starts without NATS, and makes what it needs when NATS is there. NATS
// goes and comes back on the same directory: what was in files is there, what was in
// memory is made anew, and nothing that was said to be stored is missing.
func TestNATSComesAndGoes(t *testing.T) {
	t.Parallel()
	address, directory := testkit.FreeAddress(t), t.TempDir()
	c := kept(t, func(c *stream.Config) { c.URL = "nats://" + address })
	if err := c.Ready(); err == nil || failure.KindOf(err) != failure.Unavailable {
		t.Errorf("without NATS it says %v", err)
	}
	if err := c.EnsureModel(t.Context(), "m"); err == nil || failure.KindOf(err) != failure.Unavailable {
		t.Errorf("without NATS a model's queue gives %v", err)
	}
	stored := 0
	for range 3 {
		s := serve(t, address, directory)
		ready(t, c)
		if stored == 0 {
			if err := c.EnsureModel(t.Context(), "m"); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Eventually(t, 20*time.Second, "the model's queue is there", func() bool {
			_, err := c.JetStream().Consumer(t.Context(), stream.StepStream("m"), stream.StepConsumer(1))
			return err == nil
		})
		if _, err := c.JetStream().Publish(t.Context(), stream.InputSubject("j", "0"), nil); err != nil {
			t.Error(err)
		}
		stored++
		if n := inputs(t, c); n != stored {
			t.Errorf("%d inputs are there, want %d", n, stored)
		}
		s.Stop()
		outage(t, c)
	}
}

func inputs(t *testing.T, c *stream.Connection) int {
	t.Helper()
	s, err := c.JetStream().Stream(t.Context(), stream.Inputs)
	if err != nil {
		t.Fatal(err)
	}
	return int(s.CachedInfo().State.Msgs)
}

// outage checks that what is published without a server is refused, at once or when
// its time is over. It is never taken.
func outage(t *testing.T, c *stream.Connection) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, "the loss is noticed", func() bool { return c.Ready() != nil })
	if err := c.Accepts(); err == nil || failure.KindOf(err) != failure.Unavailable {
		t.Errorf("during an outage it accepts: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := c.JetStream().Publish(ctx, stream.InputSubject("j", "0"), nil)
	if err := stream.Failure(err); err == nil || failure.KindOf(err) != failure.Unavailable {
		t.Errorf("a publish during an outage gives %v", err)
	}
	ack, err := c.JetStream().PublishMsgAsync(&nats.Msg{Subject: stream.InputSubject("j", "0")})
	if err == nil {
		select {
		case <-ack.Ok():
			t.Error("a publish during an outage is taken")
		case err = <-ack.Err():
		case <-time.After(20 * time.Second):
			t.Error("a publish during an outage is not refused")
		}
	}
	if err := stream.Failure(err); err == nil || failure.KindOf(err) != failure.Unavailable {
		t.Errorf("a publish without waiting gives %v", err)
	}
	kv, err := c.JetStream().KeyValue(ctx, stream.Records)
	if err == nil {
		_, err = kv.Put(ctx, "a", nil)
	}
	if err == nil {
		t.Error("a key is written during an outage")
	}
}

// What somebody deletes under way is made again.
func TestStreamsThatAreDeleted(t *testing.T) {
	t.Parallel()
	c := kept(t, natstest.In(natstest.Server(t)))
	ready(t, c)
	if err := c.JetStream().DeleteStream(t.Context(), stream.Notes); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 20*time.Second, "the stream is there again", func() bool {
		_, err := c.JetStream().Stream(t.Context(), stream.Notes)
		return err == nil
	})
}

// A stream of another kind is said, and nothing is ready, until it is gone.
func TestAStreamInTheWay(t *testing.T) {
	t.Parallel()
	s := natstest.Server(t)
	js := natstest.Connect(t, natstest.In(s)).JetStream()
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: stream.Notes, Subjects: []string{"triptych.note.>"}}); err != nil {
		t.Fatal(err)
	}
	c := kept(t, natstest.In(s))
	testkit.Eventually(t, 10*time.Second, "it is said", func() bool { return failure.KindOf(c.Ready()) == failure.Conflict })
	if err := js.DeleteStream(t.Context(), stream.Notes); err != nil {
		t.Fatal(err)
	}
	ready(t, c)
}

// A server that does not answer a publisher, as one that can't write to its disk, is
// not given new jobs, but goes on to be worked with. One publisher who would not wait
// says nothing.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := natstest.Server(t)
	c := kept(t, natstest.In(s))
	ready(t, c)
	mute, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mute.Close)
	if _, err := mute.Subscribe("mute.a", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	if err := mute.Flush(); err != nil {
		t.Fatal(err)
	}
	for wait, want := range map[time.Duration]bool{50 * time.Millisecond: true, 2500 * time.Millisecond: false} {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		if _, err := c.JetStream().PublishMsg(ctx, &nats.Msg{Subject: "mute.a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %s it is %v", wait, err)
		}
		cancel()
		if err := c.Accepts(); wait > time.Second && (err == nil) != want {
			t.Errorf("after %s it is %v", wait, err)
		}
	}
	if err := c.Ready(); err != nil {
		t.Errorf("what was accepted is not worked on: %v", err)
	}
}
