package link

import (
	"bytes"
	"regexp"
	"sync"
)

// Trap springs when a server has acknowledged what a client published: the
// acknowledgement is not passed on before Spring has returned, and then never.
type Trap struct {
	publish *regexp.Regexp
	spring  func()
	once    sync.Once
	sprung  chan struct{}
}

// NewTrap makes a trap for publishes to a subject that begins with a prefix. Spring
// is called once, in the moment between the server's acknowledgement and the
// client's hearing of it.
func NewTrap(prefix string, spring func()) *Trap {
	return &Trap{
		publish: regexp.MustCompile(`PUB ` + regexp.QuoteMeta(prefix) + `\S* (\S+) [0-9]`),
		spring:  spring, sprung: make(chan struct{}),
	}
}

// Sprung is closed when Spring has returned.
func (t *Trap) Sprung() <-chan struct{} { return t.sprung }

// snap springs the trap; it is false when it had sprung before.
func (t *Trap) snap() (first bool) {
	t.once.Do(func() {
		first = true
		t.spring()
		close(t.sprung)
	})
	return first
}

// tail is how many bytes of what passed are looked at again: a line of the protocol
// may come in two pieces.
const tail = 1 << 10

// session is what passed on one connection, as far as a trap needs it.
type session struct {
	mu      sync.Mutex
	client  []byte
	server  []byte
	replies [][]byte // "MSG <subject of the reply> " of the publishes that were seen
}

// fromClient notes where the acknowledgements of the publishes will go.
func (s *session) fromClient(t *Trap, data []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := append(s.client, data...) //nolint:gocritic // the rest of it is copied below
	if t != nil {
		for _, match := range t.publish.FindAllSubmatch(seen, -1) {
			s.replies = append(s.replies, append([]byte("MSG "), append(bytes.Clone(match[1]), ' ')...))
		}
	}
	s.client = bytes.Clone(seen[max(0, len(seen)-tail):])
	return true
}

// fromServer springs the trap when one of them comes; false ends the connection.
func (s *session) fromServer(t *Trap, data []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := append(s.server, data...) //nolint:gocritic // the rest of it is copied below
	if t != nil {
		for _, reply := range s.replies {
			if bytes.Contains(seen, reply) && t.snap() {
				return false
			}
		}
	}
	s.server = bytes.Clone(seen[max(0, len(seen)-tail):])
	return true
}
