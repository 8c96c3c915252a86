// Package ledger sends jobs, keeps what was accepted of them, and at the end checks
// it against what is stored: every accepted item has exactly one verdict, the right
// one, and everything that is told of jobs agrees with that. It trusts no count that
// a gateway gives. Only tests import it.
package ledger

import (
	"net/http"
	"sync"
	"testing"
	"time"
)

// Ledger knows what was accepted. Safe for concurrent use.
type Ledger struct {
	tb     testing.TB
	client *http.Client
	// gateways are the HTTP addresses that are tried one after the other.
	gateways []string

	mu       sync.Mutex
	accepted map[string]Job // by id
	keys     int
	refused  map[int]int // statuses other than 202, and 0 for no answer
	// requeued is how many dead items were put back: each is one message more.
	requeued uint64
}

// requestTimeout bounds one request of a client: longer than a gateway that is cut
// off from NATS takes to say so.
const requestTimeout = 30 * time.Second

// New makes a ledger that sends to the gateways at these HTTP addresses.
func New(tb testing.TB, gateways ...string) *Ledger {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	tb.Cleanup(transport.CloseIdleConnections)
	return &Ledger{
		tb: tb, gateways: gateways, accepted: map[string]Job{}, refused: map[int]int{},
		client: &http.Client{Timeout: requestTimeout, Transport: transport},
	}
}

// Items is how many items were accepted.
func (l *Ledger) Items() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, job := range l.accepted {
		n += len(job.Items)
	}
	return n
}

// Jobs are the ids of the accepted jobs.
func (l *Ledger) Jobs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make([]string, 0, len(l.accepted))
	for id := range l.accepted {
		ids = append(ids, id)
	}
	return ids
}

// Refused is how often each status other than 202 came; 0 is no answer.
func (l *Ledger) Refused() map[int]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[int]int{}
	for status, n := range l.refused {
		counts[status] = n
	}
	return counts
}
