package feed_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/gateway/jobs/feed"
)

// cell is a bucket with one key.
type cell struct {
	mu       sync.Mutex
	revision uint64
	value    []byte
}

// line is one holder's line to a cell.
type line struct {
	jetstream.KeyValue
	cell *cell
	// down loses requests, and deaf the answers to writes.
	down, deaf atomic.Bool
}

var errDown = errors.New("no answer")

type entry struct {
	jetstream.KeyValueEntry
	value    []byte
	revision uint64
}

func (e entry) Value() []byte    { return e.value }
func (e entry) Revision() uint64 { return e.revision }

func (l *line) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	l.cell.mu.Lock()
	defer l.cell.mu.Unlock()
	switch {
	case l.down.Load():
		return nil, errDown
	case l.cell.revision == 0:
		return nil, jetstream.ErrKeyNotFound
	}
	return entry{value: l.cell.value, revision: l.cell.revision}, nil
}

func (l *line) Create(ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return l.Update(ctx, key, value, 0)
}

func (l *line) Update(_ context.Context, _ string, value []byte, revision uint64) (uint64, error) {
	l.cell.mu.Lock()
	defer l.cell.mu.Unlock()
	if l.down.Load() {
		return 0, errDown
	}
	if revision != l.cell.revision {
		return 0, &jetstream.APIError{ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence}
	}
	l.cell.revision++
	l.cell.value = value
	if l.deaf.Load() {
		return 0, errDown
	}
	return l.cell.revision, nil
}

const takeover = 10 * time.Second

// electorate is some who want to lead.
type electorate struct {
	lines []*line
	ends  []context.CancelFunc
	all   sync.WaitGroup
	// who leads, how many do, how many ever did at once, and the last epoch.
	leader, leaders, most atomic.Int32
	epoch                 atomic.Uint32
}

func elect(n int) *electorate {
	e := &electorate{}
	shared := &cell{}
	for i := range n {
		l := &line{cell: shared}
		ctx, cancel := context.WithCancel(context.Background())
		e.lines, e.ends = append(e.lines, l), append(e.ends, cancel)
		e.all.Go(func() {
			feed.Lease(ctx, l, string(rune('a'+i)), takeover, func(ctx context.Context, epoch uint32) {
				e.most.Store(max(e.most.Load(), e.leaders.Add(1)))
				e.leader.Store(int32(i))
				e.epoch.Store(epoch)
				<-ctx.Done()
				e.leaders.Add(-1)
			})
		})
	}
	return e
}

func (e *electorate) end() {
	for _, cancel := range e.ends {
		cancel()
	}
	e.all.Wait()
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := elect(3)
		defer e.end()
		after(takeover * 20)
		if e.leaders.Load() != 1 || e.most.Load() != 1 || e.epoch.Load() != 1 {
			t.Errorf("%d lead, %d did at once, in term %d", e.leaders.Load(), e.most.Load(), e.epoch.Load())
		}
	})
}

func TestLeaderIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := elect(3)
		defer e.end()
		after(takeover)
		first := e.leader.Load()
		e.lines[first].down.Store(true)
		after(takeover / 2)
		if e.leaders.Load() != 1 || e.leader.Load() != first {
			t.Error("a short trouble ends a term")
		}
		after(takeover / 4)
		if e.leaders.Load() != 0 {
			t.Error("one that can't know whether it leads goes on")
		}
		after(takeover)
		if e.leaders.Load() != 1 || e.leader.Load() == first || e.most.Load() != 1 || e.epoch.Load() != 2 {
			t.Errorf("%d lead, %d did at once, in term %d", e.leaders.Load(), e.most.Load(), e.epoch.Load())
		}
		e.lines[first].down.Store(false)
		after(takeover * 3)
		if e.most.Load() != 1 || e.leader.Load() == first {
			t.Error("one that comes back takes the lease away")
		}
	})
}

func TestNobodyLeadsWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := elect(2)
		defer e.end()
		after(takeover)
		for _, l := range e.lines {
			l.down.Store(true)
		}
		after(10 * takeover)
		if e.leaders.Load() != 0 {
			t.Error("somebody leads while nothing can be stored")
		}
		for _, l := range e.lines {
			l.down.Store(false)
		}
		after(2 * takeover)
		if e.leaders.Load() != 1 || e.most.Load() != 1 || e.epoch.Load() != 2 {
			t.Errorf("%d lead, %d did at once, in term %d", e.leaders.Load(), e.most.Load(), e.epoch.Load())
		}
	})
}

func TestAnswersAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := elect(2)
		defer e.end()
		after(takeover)
		for range 20 {
			first := e.leader.Load()
			e.lines[first].deaf.Store(true)
			after(takeover / 4)
			e.lines[first].deaf.Store(false)
			after(takeover)
		}
		if e.leaders.Load() != 1 || e.most.Load() != 1 || e.epoch.Load() != 1 {
			t.Errorf("%d lead, %d did at once, in term %d", e.leaders.Load(), e.most.Load(), e.epoch.Load())
		}
	})
}

func TestLeaseIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := elect(2)
		defer e.end()
		after(takeover)
		e.ends[e.leader.Load()]()
		after(takeover / 5)
		if e.leaders.Load() != 1 || e.epoch.Load() != 2 || e.most.Load() != 1 {
			t.Errorf("%d lead, %d did at once, in term %d", e.leaders.Load(), e.most.Load(), e.epoch.Load())
		}
	})
}
