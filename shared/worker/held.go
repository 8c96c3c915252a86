package worker

import (
	"sync"

	"github.com/nats-io/nats.go"
)

// message is what two deliveries of one message have in common. A queue that was made
// anew counts from one again, so that the number alone does not tell.
type message struct {
	subject  string
	sequence uint64
	stored   int64
}

func messageOf(msg *nats.Msg, meta *nats.MsgMetadata) message {
	return message{subject: msg.Subject, sequence: meta.Sequence.Stream, stored: meta.Timestamp.UnixNano()}
}

// held is all deliveries that have not ended, by their message. Safe for concurrent
// use.
type held struct {
	mu  sync.Mutex
	all map[message]*delivery
}

func (h *held) add(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[message]*delivery{}
	}
	h.all[messageOf(d.msg, d.meta)] = d
}

func (h *held) remove(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := messageOf(d.msg, d.meta); h.all[m] == d {
		delete(h.all, m)
	}
}

// of is the delivery of the same message; nil for none.
func (h *held) of(msg *nats.Msg, meta *nats.MsgMetadata) *delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[messageOf(msg, meta)]
}

func (h *held) list() []*delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*delivery, 0, len(h.all))
	for _, d := range h.all {
		list = append(list, d)
	}
	return list
}

// giveBack gives all back at once.
func (h *held) giveBack() {
	for _, d := range h.list() {
		d.nak(0)
	}
}
