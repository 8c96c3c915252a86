package worker

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// delivery is a message with a task that JetStream has lent to this worker. It ends
// once: whoever ends it again does nothing. Safe for concurrent use.
type delivery struct {
	msg   *nats.Msg
	meta  *nats.MsgMetadata
	taken time.Time
	ended atomic.Bool
}

// earlier is how often the message had been delivered before.
func (d *delivery) earlier() uint32 {
	return uint32(min(max(d.meta.NumDelivered, 1)-1, 1<<20))
}

// name names what is noted of the delivery.
func (d *delivery) name(what string) string {
	return strconv.FormatUint(d.meta.NumDelivered, 10) + "." + what
}

// waited is how long the task lay in its queue.
func (d *delivery) waited() time.Duration { return max(d.taken.Sub(d.meta.Timestamp), 0) }

func (d *delivery) end(say func() error) bool {
	if d.ended.Swap(true) {
		return false
	}
	// One that does not get there is made up for: the task comes again and is seen to
	// be done.
	_ = say()
	return true
}

// ack says that what follows from the task is stored.
func (d *delivery) ack() { d.end(func() error { return d.msg.Ack() }) }

// nak gives the task back, for another try after a pause.
func (d *delivery) nak(after time.Duration) bool {
	return d.end(func() error { return d.msg.NakWithDelay(max(after, time.Millisecond)) })
}

// term takes the message out of its queue for good.
func (d *delivery) term() { d.end(func() error { return d.msg.Term() }) }

// progress says that the task is being worked on.
func (d *delivery) progress() {
	if !d.ended.Load() {
		_ = d.msg.InProgress()
	}
}

// held is all deliveries that have not ended. Safe for concurrent use.
type held struct {
	mu  sync.Mutex
	all map[*delivery]bool
}

func (h *held) add(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[*delivery]bool{}
	}
	h.all[d] = true
}

func (h *held) remove(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, d)
}

func (h *held) progress() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for d := range h.all {
		d.progress()
	}
}

// giveBack gives all back at once.
func (h *held) giveBack() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for d := range h.all {
		d.nak(0)
	}
}
