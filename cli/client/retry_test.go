package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"triptych/cli/client"
	"triptych/shared/failure"
)

func TestPatience(t *testing.T) {
	t.Parallel()
	away := failure.New(failure.Unavailable, "away")
	hint := &failure.Error{Kind: failure.Busy, Message: "full", RetryAfter: 40 * time.Second}
	for name, tt := range map[string]struct {
		patience time.Duration
		errs     []error // the last stays
		tries    int
		least    time.Duration
		most     time.Duration
		want     error
	}{
		"good at once":       {time.Minute, []error{nil}, 1, 0, 0, nil},
		"its own fault":      {time.Minute, []error{failure.New(failure.Invalid, "wrong")}, 1, 0, 0, failure.New(failure.Invalid, "wrong")},
		"unknown":            {time.Minute, []error{errors.New("odd")}, 1, 0, 0, errors.New("odd")},
		"away for a while":   {time.Minute, []error{away, away, away, nil}, 4, 1750 * time.Millisecond, 2100 * time.Millisecond, nil},
		"away for ever":      {time.Minute, []error{away}, 11, 45 * time.Second, time.Minute, away},
		"told when":          {time.Minute, []error{hint, nil}, 2, 40 * time.Second, 48 * time.Second, nil},
		"told, but too late": {30 * time.Second, []error{hint, nil}, 1, 0, 0, hint},
		"no patience":        {0, []error{away, nil}, 1, 0, 0, away},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, tries, notices := time.Now(), 0, 0
				p := client.Patience{For: tt.patience, Notice: func(error, time.Duration) { notices++ }}
				err := p.Try(t.Context(), func(context.Context) error {
					tries++
					return tt.errs[min(tries, len(tt.errs))-1]
				})
				took := time.Since(begin)
				if failure.KindOf(err) != failure.KindOf(tt.want) || (err == nil) != (tt.want == nil) || took < tt.least || took > tt.most || notices != tries-1 {
					t.Errorf("%v after %d tries, %d notices and %s", err, tries, notices, took)
				}
				if d := tries - tt.tries; d < -1 || d > 1 || (d != 0 && tt.tries < 9) {
					t.Errorf("%d tries, want %d", tries, tt.tries)
				}
			})
		})
	}
}

func TestPatienceEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := client.Patience{For: time.Hour}.Try(ctx, func(context.Context) error { return failure.New(failure.Unavailable, "away") })
		if failure.KindOf(err) != failure.Deadline {
			t.Error(err)
		}
	})
}
