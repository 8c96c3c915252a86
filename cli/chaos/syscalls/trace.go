// Package syscalls reads what strace saw of a NATS server, and tells whether each
// message was on the disk before its publisher was told so. It knows the few calls
// that matter for that.
package syscalls

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Command is strace with the arguments that Read needs; the program and its own
// arguments follow. What is seen goes to the file. The program stays the child, and
// gets the signals: strace is beside it.
func Command(file string) []string {
	return []string{
		"strace", "--daemonize", "--follow-forks", "--seccomp-bpf", "--decode-fds=path,socket", "--string-limit=1048576",
		"--trace=read,write,writev,pwrite64,fsync,fdatasync,openat", "--quiet=attach,personality", "--signal=none", "--output=" + file,
	}
}

// call is one system call that has returned.
type call struct {
	name string
	// file is what strace says of the descriptor: a path, or a socket's inode.
	file string
	// text is the whole line, with the bytes in quotes.
	text string
}

var (
	unfinished = regexp.MustCompile(`^(\d+)\s+(.*) <unfinished \.\.\.>$`)
	resumed    = regexp.MustCompile(`^(\d+)\s+<\.\.\. \w+ resumed>(.*)$`)
	complete   = regexp.MustCompile(`^(\d+)\s+(.*)$`)
	parts      = regexp.MustCompile(`^(\w+)\(\d+<(.*?)>(?:, |\))`)
	opened     = regexp.MustCompile(`^openat\(.*O_D?SYNC.*\) = \d+<(.*)>$`)
)

// mostLine bounds a line of strace.
const mostLine = 16 << 20

// calls gives the calls in an order that proves enough: a write of an answer where
// it began, everything else where it had returned.
func calls(trace io.Reader, each func(call)) error {
	lines := bufio.NewScanner(trace)
	lines.Buffer(make([]byte, 0, 64<<10), mostLine)
	begun := map[string]string{}
	for lines.Scan() {
		if m := unfinished.FindStringSubmatch(lines.Text()); m != nil {
			begun[m[1]] = m[2]
			tell(m[2], true, each)
		} else if m := resumed.FindStringSubmatch(lines.Text()); m != nil {
			tell(begun[m[1]]+m[2], false, each)
			delete(begun, m[1])
		} else if m := complete.FindStringSubmatch(lines.Text()); m != nil {
			tell(m[2], true, each)
			tell(m[2], false, each)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	return nil
}

// tell passes on a call that begins when that is what counts, or one that ends.
func tell(text string, begins bool, each func(call)) {
	if m := opened.FindStringSubmatch(text); m != nil && !begins {
		each(call{name: "opensync", file: m[1], text: text})
		return
	}
	m := parts.FindStringSubmatch(text)
	if m == nil || strings.HasPrefix(text, "openat") {
		return
	}
	answer := strings.HasPrefix(m[2], "TCP") && strings.HasPrefix(m[1], "write")
	if answer == begins {
		each(call{name: m[1], file: m[2], text: text})
	}
}

// named are strace's escapes that are no numbers.
var named = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', 'f': '\f'}

// unquote gives the bytes for what strace shows of them.
func unquote(text string) string {
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b = append(b, text[i])
			continue
		}
		i++
		if text[i] < '0' || text[i] > '7' {
			b = append(b, cmp.Or(named[text[i]], text[i]))
			continue
		}
		var n byte
		end := min(i+3, len(text))
		for ; i < end && text[i] >= '0' && text[i] <= '7'; i++ {
			n = n<<3 | (text[i] - '0')
		}
		i--
		b = append(b, n)
	}
	return string(b)
}
