package natsd_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/cli/chaos/natsd"
	"triptych/shared/testkit"
)

// streams connects and makes a stream of files with so many copies.
func streams(t *testing.T, url string, replicas int) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Replicas: replicas})
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// published publishes until the server has it.
func published(t *testing.T, js jetstream.JetStream, subject string) {
	t.Helper()
	testkit.Eventually(t, 30*time.Second, subject+" is stored", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := js.Publish(ctx, subject, nil, jetstream.WithMsgID(subject))
		return err == nil
	})
}

func count(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

func TestRestartOnTheSameDirectory(t *testing.T) {
	server := natsd.Start(t, natsd.Options{})
	js := streams(t, server.URL(), 1)
	published(t, js, "s.1")
	server.Restart()
	published(t, js, "s.2")
	if n := count(t, js); n != 2 {
		t.Errorf("%d messages are there, want 2", n)
	}
}

func TestClusterWithoutOneOfThree(t *testing.T) {
	nodes := natsd.StartCluster(t)
	js := streams(t, nodes[0].URL(), 3)
	published(t, js, "s.1")
	nodes[2].Kill()
	published(t, js, "s.2")
	nodes[2].Start()
	nodes[2].WaitReady()
	if n := count(t, js); n != 2 {
		t.Errorf("%d messages are there, want 2", n)
	}
}
