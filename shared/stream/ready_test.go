package stream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"triptych/shared/failure"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// The client gives a connection up for good when the server calls a line too long:
// whoever runs the process must learn of it.
func TestLive(t *testing.T) {
	conn := natstest.Store(t, natstest.Server(t)).Connection()
	if err := conn.Live(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := conn.JetStream().Stream(ctx, strings.Repeat("x", 8<<10)); err == nil {
		t.Fatal("there is such a stream")
	}
	testkit.Eventually(t, 10*time.Second, "liveness says no", func() bool { return failure.KindOf(conn.Live()) == failure.Unavailable })
}

func TestLiveAtTheEnd(t *testing.T) {
	conn := natstest.Store(t, natstest.Server(t)).Connection()
	conn.Close()
	if err := conn.Live(); err != nil {
		t.Errorf("an end that was asked for: %v", err)
	}
}
