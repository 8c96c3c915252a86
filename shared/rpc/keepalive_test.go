package rpc

import (
	"testing"
	"time"
)

// RPC-02: a server that allows pings less often than its clients send them
// closes the connection with "too many pings". This is inside the package as
// nothing else sees the numbers.
func TestKeepaliveMatches(t *testing.T) {
	if most := keepaliveTime * 9 / 10; keepaliveMinimum > most {
		t.Errorf("the server allows a ping every %s, clients send one every %s", keepaliveMinimum, keepaliveTime)
	}
	if keepaliveTime < 10*time.Second {
		t.Errorf("clients ping every %s, but gRPC makes that 10 s", keepaliveTime)
	}
}

// A full batch of the largest usual input fits, with room for the rest.
func TestLimitFitsTheWork(t *testing.T) {
	if most := 16*3*512*512*4 + 1<<20; DefaultMaxMessageBytes < most {
		t.Errorf("the limit is %d, a batch has %d bytes", DefaultMaxMessageBytes, most)
	}
}
