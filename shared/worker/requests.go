package worker

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"triptych/shared/stream"
)

// unanswered is for how long requests for tasks have had no answer.
func (p *puller) unanswered() time.Duration {
	since := p.asking.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// ask asks for as many tasks as can be worked on and passed on.
func (p *puller) ask(ctx context.Context) {
	now := time.Now()
	if p.door.store.Connection().Ready() != nil {
		p.plan.forget()
		p.asking.Store(0)
		return
	}
	if !p.made && !p.ensure(ctx, now) {
		return
	}
	if p.stuck.Load() > 0 || p.door.house.closed() {
		return
	}
	for _, r := range p.plan.next(now, ahead(p.lanes.allowed()), int(p.inFlight.Load())) {
		p.metrics.fetches.Inc()
		p.asking.CompareAndSwap(0, now.UnixNano())
		body, err := json.Marshal(r.body())
		if err == nil {
			err = p.nats.PublishRequest(nextSubject+stream.StepStream(p.model)+"."+stream.StepConsumer(r.level), p.replyTo(r), body)
		}
		if err != nil {
			p.plan.forget()
			return
		}
	}
}

// nextSubject is where JetStream is asked for messages.
const nextSubject = "$JS.API.CONSUMER.MSG.NEXT."

func (p *puller) replyTo(r request) string {
	return p.inbox + "." + strconv.Itoa(r.level) + "." + strconv.FormatUint(r.number, 10)
}

// requestOf is what replyTo has made a subject of.
func (p *puller) requestOf(subject string) (level int, number uint64, ok bool) {
	parts := strings.Split(strings.TrimPrefix(subject, p.inbox+"."), ".")
	if len(parts) != 2 {
		return 0, 0, false
	}
	level, err := strconv.Atoi(parts[0])
	if err != nil || level < 1 || level > stream.Levels {
		return 0, 0, false
	}
	number, err = strconv.ParseUint(parts[1], 10, 64)
	return level, number, err == nil
}

// The statuses of JetStream's answers that matter here.
const (
	statusHeader    = "Status"
	statusHeartbeat = "100"
	statusNone      = "404"
	statusTimeout   = "408"
)

// answer takes note that JetStream has answered.
func (p *puller) answer() {
	p.answered.Store(time.Now().UnixNano())
	p.asking.Store(0)
}
