package workload

import (
	"context"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/target"
	"triptych/shared/failure"
)

// How long a server that is just starting is waited for, how often it is tried, and
// how long a connection may take.
const (
	contactTime  = 2 * time.Second
	contactEvery = 500 * time.Millisecond
	connectTime  = 5 * time.Second
)

// Contact sends a request of each sort before anything is measured. Each may take
// the test's timeout. The error is of Kind Unavailable where nothing answers for
// two seconds, and Invalid where a server refuses in a way that no load makes right.
// Any other answer, or none in time, is the test's to tell. There is no error when
// ctx is done.
func (w *Workload) Contact(ctx context.Context, timeout time.Duration) error {
	var refused error
	for _, s := range w.sorts {
		if s.spec.Weight == 0 {
			continue // it is never sent
		}
		err := s.contact(ctx, timeout)
		switch {
		case failure.KindOf(err) == failure.Unavailable:
			return err
		case refused == nil:
			refused = err
		}
	}
	return refused
}

// contact tries one sort.
func (s *sort) contact(ctx context.Context, timeout time.Duration) error {
	end := time.Now().Add(contactTime)
	for {
		f := s.touch(ctx, timeout)
		switch {
		case ended(ctx):
			return nil
		case f.Permanent:
			return failure.New(failure.Invalid, "%s refuses requests for model %s: %s", target.Address(s.spec.Target), s.spec.Target.Model, f.Error())
		case !f.Unreached && f.Kind != measure.Connection:
			return nil
		case time.Now().After(end):
			return s.silence(f)
		}
		pause(ctx, contactEvery)
	}
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// touch sends one request. The fault is empty when there was an answer, or a
// connection but no answer in time.
func (s *sort) touch(ctx context.Context, timeout time.Duration) measure.Fault {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if s.spec.Target.Protocol == target.GRPC { // which bounds its connections itself
		return s.fault(ctx)
	}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	impatient := time.AfterFunc(connectTime, func() {
		if !connected.Load() {
			cancel()
		}
	})
	defer impatient.Stop()
	f := s.fault(ctx)
	if f.Kind != measure.Connection || ctx.Err() == nil {
		return f
	}
	if connected.Load() {
		return measure.Fault{}
	}
	f.Unreached, f.Message = true, "no connection within "+min(timeout, connectTime).String()
	return f
}

func (s *sort) fault(ctx context.Context) measure.Fault {
	if _, err := s.try.Do(ctx, 0); err != nil {
		return measure.FaultOf(err)
	}
	return measure.Fault{}
}

// refusedConnection is what the system says where no program listens.
const refusedConnection = "connection refused"

// silence is the error for a server of which there is no word.
func (s *sort) silence(f measure.Fault) error {
	why, address := reason(f.Message), target.Address(s.spec.Target)
	if why == refusedConnection {
		return failure.New(failure.Unavailable, "nothing answers at %s: %s. Is the server running?", address, why)
	}
	return failure.New(failure.Unavailable, "nothing answers at %s: %s. Is that the server's address for %s?", address, why, s.spec.Target.Protocol)
}

// reason is the last part of an error's text, which says what happened in the end.
func reason(text string) string {
	text = strings.TrimSuffix(text, `"`)
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+len(": "):]
	}
	return text
}
