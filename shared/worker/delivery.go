package worker

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"triptych/shared/jobs"
)

// delivery is a message with a task that JetStream has lent to this worker. It ends
// once: whoever ends it again does nothing. Safe for concurrent use.
type delivery struct {
	msg   *nats.Msg
	meta  *nats.MsgMetadata
	taken time.Time

	mu    sync.Mutex
	ended bool
	last  *nats.Msg  // the newest that came of the message: JetStream is answered there
	task  *jobs.Task // nil before it is read
	// number is that of the newest delivery, and excused up to which they need not count.
	number, excused uint64
	heard           time.Time // when JetStream last knew that the task is being worked on
}

func newDelivery(msg *nats.Msg, meta *nats.MsgMetadata) *delivery {
	now := time.Now()
	return &delivery{msg: msg, meta: meta, taken: now, last: msg, number: meta.NumDelivered, excused: max(meta.NumDelivered, 1) - 1, heard: now}
}

// earlier is how often the message had been delivered before.
func (d *delivery) earlier() uint32 {
	return uint32(min(max(d.meta.NumDelivered, 1)-1, 1<<20))
}

// waited is how long the task lay in its queue.
func (d *delivery) waited() time.Duration { return max(d.taken.Sub(d.meta.Timestamp), 0) }

// read tells what task it is.
func (d *delivery) read(t *jobs.Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.task = t
}

func (d *delivery) end(say func(*nats.Msg) error) bool {
	d.mu.Lock()
	ended, msg := d.ended, d.last
	d.ended = true
	d.mu.Unlock()
	if ended {
		return false
	}
	// One that does not get there is made up for: the task comes again and is seen to
	// be done.
	_ = say(msg)
	return true
}

// ack says that what follows from the task is stored.
func (d *delivery) ack() { d.end(func(m *nats.Msg) error { return m.Ack() }) }

// nak gives the task back, for another try after a pause.
func (d *delivery) nak(after time.Duration) bool {
	return d.end(func(m *nats.Msg) error { return m.NakWithDelay(max(after, time.Millisecond)) })
}

// term takes the message out of its queue for good.
func (d *delivery) term() { d.end(func(m *nats.Msg) error { return m.Term() }) }

// progress says that the task is being worked on.
func (d *delivery) progress() {
	d.mu.Lock()
	ended, msg := d.ended, d.last
	d.mu.Unlock()
	if !ended {
		_ = msg.InProgress()
	}
}

// hear takes note that JetStream knows of the work since then.
func (d *delivery) hear(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.After(d.heard) {
		d.heard = at
	}
}

// silence is what has to be noted when JetStream has heard nothing for so long: it gives
// the task to somebody else then, or into a connection that is no more.
func (d *delivery) silence(now time.Time, wait time.Duration) (excuse, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || now.Sub(d.heard) < wait {
		return excuse{}, false
	}
	d.heard = now
	return d.excuseTo(d.excused + 1)
}

// excuse is what has to be noted so that no delivery counts up to the present one;
// nothing when that was done.
func (d *delivery) excuse() (excuse, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.excuseTo(d.number)
}

func (d *delivery) excuseTo(number uint64) (excuse, bool) {
	if d.task == nil || number <= d.excused {
		return excuse{}, false
	}
	e := excuse{task: d.task, sequence: d.meta.Sequence.Stream, from: d.excused + 1, to: number}
	d.excused = number
	return e, true
}

// again takes a message that is of the same task, which is still being worked on: the
// deliveries before are not of workers that died. It is false when the work has ended.
func (d *delivery) again(msg *nats.Msg, meta *nats.MsgMetadata) (e excuse, excused, taken bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return excuse{}, false, false
	}
	if meta.NumDelivered > d.number {
		e, excused = d.excuseTo(meta.NumDelivered - 1)
		d.last, d.number, d.heard = msg, meta.NumDelivered, time.Now()
	}
	return e, excused, true
}
