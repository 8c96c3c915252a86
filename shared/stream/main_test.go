package stream_test

import (
	"testing"

	"triptych/shared/stream"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// made is a connection to a server of the test's own on which everything is made.
func made(t *testing.T, change ...func(*stream.Config)) *stream.Connection {
	t.Helper()
	return natstest.Store(t, natstest.Server(t), change...).Connection()
}
