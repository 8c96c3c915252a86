package engine

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u usage
		want := func(want time.Duration) {
			t.Helper()
			if got := u.total(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		want(0)
		u.add(2)
		time.Sleep(10 * time.Millisecond)
		want(20 * time.Millisecond)
		u.add(1)
		time.Sleep(10 * time.Millisecond)
		u.add(-2)
		time.Sleep(10 * time.Millisecond)
		want(60 * time.Millisecond)
		u.add(-1)
		time.Sleep(time.Hour)
		want(60 * time.Millisecond)
	})
}

func TestYielded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		used           float64
		all, now, want int
	}{
		"nothing runs":                      {0, 2, 2, 2},
		"all cores":                         {1, 2, 2, 1},
		"most of two":                       {.6, 2, 2, 1},
		"half of two":                       {.5, 2, 2, 1},
		"less than half of two":             {.45, 2, 2, 2},
		"it stays for a little more":        {.4, 2, 1, 1},
		"it comes back for more":            {.3, 2, 1, 2},
		"three quarters of 32":              {.75, 32, 32, 8},
		"a little more of 32":               {.8, 32, 8, 8},
		"a little less of 32":               {.7, 32, 8, 8},
		"much less of 32":                   {.6, 32, 8, 13},
		"an eighth is left to Go":           {1, 32, 32, 4},
		"it comes back at once":             {0, 32, 1, 32},
		"a container that has become small": {0, 2, 4, 2},
		"one":                               {1, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := yielded(test.used, test.all, test.now); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

// While the runtime has all cores, Go code has one; the cores that models may use
// are the same as before.
func TestYield(t *testing.T) {
	const all = 5
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(all))
	cores := Cores()
	synctest.Test(t, func(t *testing.T) {
		l := &Library{usage: &usage{}}
		ctx, cancel := context.WithCancel(t.Context())
		go l.Yield(ctx)
		after := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			if got := runtime.GOMAXPROCS(0); got != want {
				t.Errorf("Go code has %d processors, want %d", got, want)
			}
			if got := Cores(); got != cores {
				t.Errorf("models have %d cores, want %d", got, cores)
			}
		}
		after(time.Minute, all)
		l.usage.add(cores)
		after(150*time.Millisecond, 3)
		after(3*time.Second, 1)
		l.usage.add(-cores)
		after(3*time.Second, all)
		l.usage.add(cores)
		after(3*time.Second, 1)
		cancel()
		synctest.Wait()
		after(0, all)
	})
}

// A number that Go has chosen is Go's to choose again; any other comes back as it was.
func TestProcessorsComeBack(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	runtime.SetDefaultGOMAXPROCS()
	for _, all := range []int{runtime.GOMAXPROCS(0), runtime.GOMAXPROCS(0) + 3} {
		runtime.GOMAXPROCS(all)
		setProcessors(1)
		if got := allProcessors(); got != all {
			t.Errorf("there would be %d, want %d", got, all)
		}
		setProcessors(all)
		if got := runtime.GOMAXPROCS(0); got != all {
			t.Errorf("%d are back of %d", got, all)
		}
	}
}
