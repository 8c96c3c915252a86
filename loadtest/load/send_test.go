package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"triptych/loadtest/measure"
)

// quick is a target that answers after a millisecond.
type quick struct{}

func (quick) Do(context.Context, int) (measure.Answer, error) {
	time.Sleep(time.Millisecond)
	return measure.Answer{}, nil
}

// A generator that is itself late must not hide it: seen from inside, for it
// can't be made late from outside.
func TestSendThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := measure.NewRecorder()
		s := session{Plan: Plan{Timeout: time.Second, Items: 1}, target: quick{}, recorder: recorder}
		planned := time.Now()
		time.Sleep(2 * time.Second)
		s.send(t.Context(), 0, planned)
		r := recorder.Result()
		if r.Latency.Max != 2001*time.Millisecond || r.Lateness.Max != 2*time.Second {
			t.Errorf("latency %v, lateness %v", r.Latency.Max, r.Lateness.Max)
		}
	})
}

func TestLimitOfARequestThatIsLate(t *testing.T) {
	due := time.Unix(0, 0)
	began := due.Add(30 * time.Millisecond)
	for _, tt := range []struct{ timeout, deadline, want time.Duration }{
		{time.Second, 0, 1030 * time.Millisecond},
		{time.Second, 100 * time.Millisecond, 100 * time.Millisecond},
		{10 * time.Millisecond, 100 * time.Millisecond, 40 * time.Millisecond},
	} {
		s := session{Plan: Plan{Timeout: tt.timeout, Deadline: tt.deadline}}
		if got := s.limit(request{planned: due, deadline: s.Deadline}, began).Sub(due); got != tt.want {
			t.Errorf("timeout %v, deadline %v: given up %v after it was due, want %v", tt.timeout, tt.deadline, got, tt.want)
		}
	}
}
