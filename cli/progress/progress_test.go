package progress_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"triptych/cli/progress"
)

func at(n int64) progress.State {
	return progress.State{Total: 100, Parts: []progress.Part{{N: n, Name: "succeeded"}}}
}

// Where there is no terminal there is a line now and then, and none for what is over
// soon or does not move.
func TestLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		b := progress.New(&out)
		for i := range int64(120) {
			b.Show(at(min(i, 70)))
			time.Sleep(100 * time.Millisecond)
		}
		b.Note("a note")
		b.Clear()
		want := "50/100 50%, 50 succeeded\n70/100 70%, 70 succeeded\na note\n"
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	})
}

// terminal is one of so many columns; read gives so many bytes that were written to it.
func terminal(t *testing.T, columns uint16) (tty *os.File, read func(int) string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return tty, func(n int) string {
		data := make([]byte, n)
		if _, err := io.ReadFull(master, data); err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

func TestTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	tty, read := terminal(t, 41)
	b := progress.New(tty)
	b.Show(at(50))
	b.Show(at(51)) // too soon
	b.Note("a note")
	b.Show(at(52))
	b.Clear()
	b.Clear()
	b.Note("the end")
	want := "\r███████░░░░░░░░ 50/100 50%  50 succeeded\x1b[K\r\x1b[Ka note\r\n\r███████░░░░░░░░ 52/100 52%  52 succeeded\x1b[K\r\x1b[Kthe end\r\n"
	if got := read(len(want)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestColours(t *testing.T) {
	t.Setenv("TERM", "xterm")
	os.Unsetenv("NO_COLOR")
	tty, read := terminal(t, 80)
	progress.New(tty).Show(job())
	if got := read(20); !strings.Contains(got, "\x1b[32m██") {
		t.Errorf("%q", got)
	}
}
