// Package standing is whether one replica gets work: fully, not at all, one call on
// trial, or more and more of it. It decides nothing about others, and knows no calls
// but by how they ended.
//
// Who fails too often in a row is out, at first for a base time, the next time for
// twice as long, and so on: Envoy's outlier detection
// (https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/outlier)
// and gRPC's (proposal A50). Unlike there, it does not come back because time has
// passed: it must be found healthy, and then answer one call. After that its share
// of the work grows from nothing to all, as in Envoy's slow start.
package standing

import (
	"sync"
	"sync/atomic"
	"time"
)

// InARow is how many failures without an answer in between are too many.
const InARow = 5

// The longest times: to be out, and to come back fully.
const (
	longestOut  = 30 * time.Second
	longestRamp = 5 * time.Second
)

// mode is how much work a replica gets.
type mode int32

const (
	in    mode = iota // all
	ramp              // more and more
	out               // none
	trial             // one call
)

// counts are calls in a while.
type counts struct{ calls, failed int }

// while is for how long one of the two sets of counts is added to.
const while = 10 * time.Second

// Standing is that of one replica. Safe for concurrent use.
type Standing struct {
	base time.Duration
	mode atomic.Int32

	mu       sync.Mutex
	since    time.Time // it is out
	until    time.Time // it is out, and need not be looked at; or it comes back
	back     time.Time // it came back last
	length   time.Duration
	silent   bool // it left since it was silent
	times    int  // that it has been out, without having been well for long
	trying   bool // a call is on trial
	looking  bool // somebody looks whether it is well
	inARow   int
	began    time.Time // of now
	now, old counts
}

// New is in good standing. The base is how long it is out the first time.
func New(base time.Duration) *Standing { return &Standing{base: base} }

// Share is the part of the work that it gets: 1 is all, 0 none. On trial it gets a
// call for which Try gives leave.
func (s *Standing) Share(now time.Time) (share float64, onTrial bool) {
	switch mode(s.mode.Load()) {
	case in:
		return 1, false
	case trial:
		return 0, true
	case out:
		return 0, false
	default:
		return s.rampUp(now), false
	}
}

// leastShare is with what it begins to come back.
const leastShare = .1

func (s *Standing) rampUp(now time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if mode(s.mode.Load()) != ramp {
		return 1
	}
	if !now.Before(s.until) {
		s.mode.Store(int32(in))
		return 1
	}
	return max(leastShare, 1-float64(s.until.Sub(now))/float64(s.length))
}

// Out tells whether it gets no work, or one call.
func (s *Standing) Out() bool {
	m := mode(s.mode.Load())
	return m == out || m == trial
}

// Try gives leave for the one call on trial. End must follow.
func (s *Standing) Try() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if mode(s.mode.Load()) != trial || s.trying {
		return false
	}
	s.trying = true
	return true
}

// Verdict is what a call says of the replica that got it.
type Verdict int

const (
	// None is for a call that says nothing, as when its caller went.
	None Verdict = iota
	// Good is an answer, whatever it says of the request.
	Good
	// Bad is a failure of the replica's own.
	Bad
)

// End counts a call that ended. Too tells that there were too many failures in a
// row; back, that an answer ended its absence.
func (s *Standing) End(now time.Time, v Verdict, onTrial bool) (too, back bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if onTrial {
		s.trying = false
	}
	switch v {
	case Good:
		s.count(now).calls++
		s.inARow = 0
		return false, (onTrial || s.silent) && s.comeBack(now)
	case Bad:
		c := s.count(now)
		c.calls++
		c.failed++
		s.inARow++
		return s.inARow >= InARow || onTrial, false
	default:
		return false, false
	}
}

// comeBack lets one that answers in. The longer it was away, the slower.
func (s *Standing) comeBack(now time.Time) bool {
	if m := mode(s.mode.Load()); m != out && m != trial {
		return false
	}
	s.length = min(now.Sub(s.since), longestRamp)
	s.until, s.back = now.Add(s.length), now
	s.now, s.old = counts{}, counts{}
	s.mode.Store(int32(ramp))
	return true
}

func (s *Standing) count(now time.Time) *counts {
	if since := now.Sub(s.began); since >= while {
		s.old = s.now
		if since >= 2*while {
			s.old = counts{}
		}
		s.now, s.began = counts{}, now
	}
	return &s.now
}

// Failures is how many calls failed lately, and of how many.
func (s *Standing) Failures(now time.Time) (failed, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(now)
	return s.now.failed + s.old.failed, s.now.calls + s.old.calls
}

// Leave gives it no work for a while. One that is on trial has failed it; of one that
// is out nothing changes. One that left since it was silent comes back by any answer,
// another by that to a call on trial. False when nothing changes.
func (s *Standing) Leave(now time.Time, silent bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := mode(s.mode.Load())
	if m == out {
		return false
	}
	if m != trial {
		s.since = now
		if now.Sub(s.back) > 2*s.outFor() {
			s.times = 0 // it has been well for long
		}
	}
	s.times++
	s.silent = silent
	s.until = now.Add(s.outFor())
	s.inARow = 0
	s.mode.Store(int32(out))
	return true
}

func (s *Standing) outFor() time.Duration {
	return min(s.base*time.Duration(s.times), longestOut)
}

// Look tells whether it is time to look whether one that is out is well. Found must
// follow.
func (s *Standing) Look(now time.Time) bool {
	if mode(s.mode.Load()) != out {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looking || now.Before(s.until) {
		return false
	}
	s.looking = true
	return true
}

// Found tells how one that was looked at was found. One that is not well is looked at
// again after the base time, or after the longest one if that is shorter.
func (s *Standing) Found(now time.Time, well bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looking = false
	switch {
	case mode(s.mode.Load()) != out: // it came back by an answer
	case well:
		s.trying = false
		s.mode.Store(int32(trial))
	default:
		s.until = now.Add(min(s.base, longestOut))
	}
}
