package webhook_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"triptych/shared/failure"
)

// names is a server of DNS that says of every name what it is told to.
func names(t *testing.T, answer func() [4]byte) *net.Resolver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		query := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			if _, err := conn.WriteTo(reply(t, query[:n], answer), from); err != nil {
				t.Error(err)
			}
		}
	}()
	t.Cleanup(func() { conn.Close(); <-ended })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func reply(t *testing.T, query []byte, answer func() [4]byte) []byte {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		t.Error(err)
	}
	m.Response, m.Additionals = true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: answer()},
		}}
	}
	packed, err := m.Pack()
	if err != nil {
		t.Error(err)
	}
	return packed
}

// A name may be public when it is looked at and loopback when it is dialled; only
// the second counts.
func TestCallIsSafeFromRebinding(t *testing.T) {
	server, got := receiver(t, status(http.StatusOK))
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	hook := "http://hook.example.com:" + u.Port() + "/"
	for name, tt := range map[string]struct {
		address [4]byte
		private bool
		want    string
	}{
		"loopback":          {[4]byte{127, 0, 0, 1}, false, "the callback's name stands for an address that is not public"},
		"metadata":          {[4]byte{169, 254, 169, 254}, false, "the callback's name stands for an address that is not public"},
		"loopback, allowed": {[4]byte{127, 0, 0, 1}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			c, _ := caller(t, nil)
			if tt.private {
				c, _ = caller(t, allowPrivate)
			}
			c.Resolve(names(t, func() [4]byte { asked.Add(1); return tt.address }))
			check(t, c.Validate(hook), "", 0)
			check(t, c.Call(t.Context(), "j1-1", hook, nil), tt.want, failure.Forbidden)
			if asked.Load() == 0 {
				t.Error("nobody looked the name up")
			}
		})
	}
	if len(got) != 1 {
		t.Errorf("%d requests came through, want that of the allowed one", len(got))
	}
}

// The environment's proxy is not used: it would dial for us.
func TestCallUsesNoProxy(t *testing.T) {
	proxy, seen := receiver(t, status(http.StatusOK))
	t.Setenv("HTTP_PROXY", proxy)
	c, _ := caller(t, nil)
	c.Resolve(names(t, func() [4]byte { return [4]byte{127, 0, 0, 1} }))
	check(t, c.Call(t.Context(), "j1-1", "http://hook.example.com/", nil), "the callback's name stands for an address that is not public", failure.Forbidden)
	if len(seen) != 0 {
		t.Error("the proxy was asked")
	}
}
