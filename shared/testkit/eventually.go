package testkit

import (
	"testing"
	"time"
)

// pause lies between two looks of Eventually.
const pause = 10 * time.Millisecond

// Eventually looks again until check holds, and ends the test with what was
// wanted when it does not within the time. It is for what happens outside the
// test's own process or clock; time inside is testing/synctest's work.
func Eventually(tb testing.TB, within time.Duration, what string, check func() bool) {
	tb.Helper()
	for begin := time.Now(); !check(); time.Sleep(pause) {
		if time.Since(begin) > within {
			tb.Fatalf("not within %s: %s", within, what)
		}
	}
}
