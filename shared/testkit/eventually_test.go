package testkit_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	message string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestEventually(t *testing.T) {
	cases := map[string]struct {
		after time.Duration
		want  string
	}{
		"at once":  {0, ""},
		"in time":  {900 * time.Millisecond, ""},
		"too late": {2 * time.Second, "not within 1s: the light is green"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, inner := time.Now(), &recorder{TB: t}
				go testkit.Eventually(inner, time.Second, "the light is green", func() bool { return time.Since(begin) >= c.after })
				time.Sleep(3 * time.Second)
				synctest.Wait()
				if inner.message != c.want {
					t.Errorf("the test ended with %q, want %q", inner.message, c.want)
				}
			})
		})
	}
}
