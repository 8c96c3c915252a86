package link_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"triptych/cli/chaos/link"
)

// server acknowledges each publish of a client, by the subject for the reply.
func server(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			lines := bufio.NewScanner(c)
			for lines.Scan() {
				if words := strings.Fields(lines.Text()); len(words) == 4 {
					fmt.Fprintf(c, "MSG %s 1 3\n", words[2])
				}
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

func dial(t *testing.T, l *link.Link) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answer is the next line of the server, or why there is none.
func answer(t *testing.T, c net.Conn, within time.Duration) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 100)
	n, err := c.Read(data)
	switch {
	case errors.Is(err, io.EOF):
		return "end"
	case err != nil:
		return "nothing"
	}
	return strings.TrimSpace(string(data[:n]))
}

func TestCutHoldsBackAndMendPassesOn(t *testing.T) {
	l := link.New(t, server(t))
	c := dial(t, l)
	fmt.Fprintln(c, "PUB a in.1 0")
	if got := answer(t, c, 10*time.Second); got != "MSG in.1 1 3" {
		t.Errorf("before the cut: %q", got)
	}
	l.Cut()
	fmt.Fprintln(c, "PUB a in.2 0")
	late := dial(t, l)
	fmt.Fprintln(late, "PUB a in.3 0")
	for _, c := range []net.Conn{c, late} {
		if got := answer(t, c, 100*time.Millisecond); got != "nothing" {
			t.Errorf("in the cut: %q", got)
		}
	}
	l.Mend()
	if got := answer(t, c, 10*time.Second); got != "MSG in.2 1 3" {
		t.Errorf("after it: %q", got)
	}
	_ = c.Close() // the server takes one connection after the other
	if got := answer(t, late, 10*time.Second); got != "MSG in.3 1 3" {
		t.Errorf("after it, for one that came in it: %q", got)
	}
}

func TestTrap(t *testing.T) {
	l := link.New(t, server(t))
	sprung := 0
	trap := link.NewTrap("job.", func() { sprung++ })
	l.Set(trap)
	c := dial(t, l)
	fmt.Fprintln(c, "PUB other in.1 0")
	if got := answer(t, c, 10*time.Second); got != "MSG in.1 1 3" || sprung != 0 {
		t.Errorf("another subject gives %q, and sprung %d times", got, sprung)
	}
	fmt.Fprint(c, "HPUB jo")
	fmt.Fprintln(c, "b.7 in.2 0")
	if got := answer(t, c, 10*time.Second); got != "end" {
		t.Errorf("the acknowledgement: %q", got)
	}
	<-trap.Sprung()
	c = dial(t, l)
	fmt.Fprintln(c, "PUB job.8 in.3 0")
	if got := answer(t, c, 10*time.Second); got != "MSG in.3 1 3" {
		t.Errorf("the next: %q", got)
	}
	if sprung != 1 {
		t.Errorf("sprung %d times", sprung)
	}
}
