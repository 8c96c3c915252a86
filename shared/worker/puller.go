package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
)

const (
	// silence is how long an unanswered request for tasks is borne.
	silence = 15 * time.Second
	// ensureWithin bounds one try to make a model's queue.
	ensureWithin = 5 * time.Second
	// ensureAgain is the pause after a try that failed.
	ensureAgain = time.Second
	// tick is how often a puller looks around when nothing happens.
	tick = 100 * time.Millisecond
	// endWithin bounds what is done for messages that are on their way at the end.
	endWithin = time.Second
)

// puller takes the tasks of one model. It asks for them itself: the client's own Fetch
// and Consume bound what one consumer gives, and here three, one for each level, share
// the slots of a model, of which each is asked for when it is free. All but what is
// atomic belongs to the goroutine of run.
type puller struct {
	door    *Door
	model   string
	lanes   *lanes
	metrics *modelMetrics
	cancel  context.CancelFunc

	nats    *nats.Conn
	inbox   string
	arrived chan *nats.Msg
	changed chan struct{} // a slot is free, or the gate is open
	plan    plan
	made    bool      // the queue was there when it was last looked at
	remake  time.Time // not tried before
	trouble telemetry.Trouble

	patience atomic.Int64 // of the consumers, in nanoseconds; 0 while it is not known
	inFlight atomic.Int32 // tasks
	stuck    atomic.Int32 // tasks that can't be passed on now
	answered atomic.Int64 // when the last answer came, in Unix nanoseconds
	asking   atomic.Int64 // since when there has been no answer; 0 when there has
}

func (d *Door) newPuller(model string) *puller {
	slots := d.slots(model)
	p := &puller{
		door: d, model: model, nats: d.store.Connection().JetStream().Conn(),
		lanes:   &lanes{slots: slots, share: d.cfg.Share, unwatched: d.models.Unwatched},
		arrived: make(chan *nats.Msg, 8*ahead(slots)+64),
		changed: make(chan struct{}, 1),
	}
	p.metrics = d.metrics.of(model)
	p.answered.Store(time.Now().UnixNano())
	return p
}

// run takes tasks until ctx ends; they run under work.
func (p *puller) run(ctx, work context.Context) {
	p.inbox = p.nats.NewInbox()
	sub, err := p.nats.ChanSubscribe(p.inbox+".*.*", p.arrived)
	if err != nil { // the connection is closed for good: the process ends
		p.door.tel.Logger.Warn("no tasks can be taken", "model", p.model, "error", err)
		return
	}
	for ctx.Err() == nil {
		p.ask(ctx)
		wait := time.NewTimer(tick)
		select {
		case msg := <-p.arrived:
			p.take(ctx, work, msg)
		case <-p.changed:
		case <-wait.C:
		case <-ctx.Done():
		}
		wait.Stop()
	}
	p.end(sub)
}

// end gives back what is on its way when no more is asked for.
func (p *puller) end(sub *nats.Subscription) {
	if sub.Drain() == nil {
		_ = p.nats.FlushTimeout(endWithin) // what was sent before has arrived then
	}
	for {
		select {
		case msg := <-p.arrived:
			if d, ok := p.delivery(msg); ok {
				p.refuse(d, nakStop)
			}
		default:
			return
		}
	}
}

// wake makes the puller look around.
func (p *puller) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// ensure makes the model's queue and its consumers when they are not there.
func (p *puller) ensure(ctx context.Context, now time.Time) bool {
	if now.Before(p.remake) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, ensureWithin)
	defer cancel()
	err := p.door.store.Connection().EnsureModel(ctx, p.model)
	var patience time.Duration
	if err == nil {
		patience, err = p.door.store.Connection().AckWait(ctx, p.model)
	}
	if err == nil {
		p.patience.Store(int64(patience))
		p.trouble.Worked()
		p.door.owed.wake() // it may be shorter than what was thought
		p.made = true
		p.plan.forget()
		return true
	}
	p.remake = now.Add(ensureAgain)
	p.asking.CompareAndSwap(0, now.UnixNano())
	if ctx.Err() == nil {
		p.trouble.Failed(ctx, p.door.tel.Logger.With("model", p.model), "the queue of a model can't be made", err)
	}
	return false
}

// take takes what has arrived: a task, or JetStream's word on a request.
func (p *puller) take(ctx, work context.Context, msg *nats.Msg) {
	if d, ok := p.delivery(msg); ok {
		p.answer()
		p.begin(ctx, work, d)
		return
	}
	level, number, ok := p.requestOf(msg.Subject)
	if !ok {
		return
	}
	switch status := msg.Header.Get(statusHeader); {
	case status == statusHeartbeat:
	case status == statusNone || status == statusTimeout:
		p.answer()
		p.plan.over(level, number)
	default: // nobody serves the consumer, or it is gone: 503, 409 and what may come
		p.plan.over(level, number)
		p.made = false
		if p.remake.Before(time.Now()) {
			p.remake = time.Now().Add(tick)
		}
	}
}

// delivery reads a message that carries a task.
func (p *puller) delivery(msg *nats.Msg) (*delivery, bool) {
	if msg.Reply == "" {
		return nil, false
	}
	meta, err := msg.Metadata()
	if err != nil {
		return nil, false
	}
	return newDelivery(msg, meta), true
}

// begin works on a task in a goroutine of its own, unless that is being done: the
// connection was lost for longer than JetStream waits.
func (p *puller) begin(ctx, work context.Context, d *delivery) {
	if a, ok := stream.StepOf(d.msg.Subject); ok {
		p.plan.got(a.Level, time.Now())
	}
	if before := p.door.held.of(d.msg, d.meta); before != nil {
		e, excused, taken := before.again(d.msg, d.meta)
		if excused {
			p.door.owed.add(e)
		}
		if taken {
			p.metrics.redelivered.Inc()
			return
		}
	}
	p.metrics.waited.Observe(d.waited().Seconds())
	if d.earlier() > 0 {
		p.metrics.redelivered.Inc()
	}
	p.inFlight.Add(1)
	p.door.held.add(d)
	entered := ctx.Err() == nil && p.door.house.enter()
	p.door.tasks.Go(func() {
		defer p.finish(d, entered)
		if !entered {
			p.refuse(d, nakAlone)
			return
		}
		if err := failure.Guard("the worker broke on this task", func() error { p.work(work, d); return nil }); err != nil {
			p.door.tel.Logger.Error("a task broke its worker", "model", p.model, "subject", d.msg.Subject, "error", err)
		}
	})
}

// finish sees to it that every delivery ends, also that of a task that has broken
// the worker: it counts as one that never ended.
func (p *puller) finish(d *delivery, entered bool) {
	if d.nak(p.door.cfg.Delay) {
		p.metrics.nak(nakBroken)
	}
	p.door.held.remove(d)
	if entered {
		p.door.house.leave()
	}
	p.inFlight.Add(-1)
	p.wake()
}
