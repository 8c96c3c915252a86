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
