package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// busy runs tasks of 10 ms through lanes for so long, and counts them.
func busy(t *testing.T, l *lanes, long time.Duration) int {
	t.Helper()
	var done atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	for range 32 {
		go func() {
			for l.enter(ctx) == nil {
				time.Sleep(10 * time.Millisecond)
				done.Add(1)
				l.leave(10 * time.Millisecond)
			}
		}()
	}
	<-ctx.Done()
	synctest.Wait()
	time.Sleep(2 * maxRest) // lanes that rest come back
	return int(done.Load())
}

func TestLanes(t *testing.T) {
	for name, c := range map[string]struct {
		slots       int
		share       float64
		unwatched   time.Duration
		least, most int // tasks in a second
	}{
		"nobody calls":                          {8, .25, time.Hour, 780, 820},
		"others call: two lanes of a quarter":   {8, .25, 0, 45, 60},
		"others have called a moment ago":       {8, .25, watchedFor / 2, 45, 60},
		"others have called a while ago":        {8, .25, watchedFor, 780, 820},
		"one lane at least":                     {2, .1, 0, 9, 12},
		"all of it":                             {4, 1, 0, 380, 410},
		"one slot has its part of the time":     {1, .25, 0, 22, 30},
		"one slot, half of the time, is a half": {1, .5, 0, 45, 55},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lanes{slots: c.slots, share: c.share, unwatched: func() time.Duration { return c.unwatched }}
				if n := busy(t, l, time.Second); n < c.least || n > c.most {
					t.Errorf("%d tasks in a second, want %d to %d", n, c.least, c.most)
				}
				l.mu.Lock()
				defer l.mu.Unlock()
				if l.used != 0 {
					t.Errorf("%d lanes are taken at the end", l.used)
				}
			})
		})
	}
}
