package app_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/shared/app"
)

// journal notes what happens, with the time since its beginning. The app calls
// its parts one after the other.
type journal struct {
	begin time.Time
	lines []string
}

func (j *journal) note(what string) { j.lines = append(j.lines, time.Since(j.begin).String()+" "+what) }

// part notes its start and stop, which take the given times and fail with the
// given errors. A stop gives up when its context ends.
func (j *journal) part(name string, starts time.Duration, startErr error, stops time.Duration, stopErr error) app.Part {
	return app.Part{
		Name: name,
		Start: func(context.Context) error {
			time.Sleep(starts)
			j.note("start " + name)
			return startErr
		},
		Stop: func(ctx context.Context) error {
			j.note("stop " + name)
			if stops == 0 {
				return stopErr
			}
			select {
			case <-time.After(stops):
				return stopErr
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
}

func newApp(drain, stop time.Duration) *app.App {
	return app.New(app.Config{DrainDelay: drain, StopTimeout: stop}, slog.New(slog.DiscardHandler))
}

func check(t *testing.T, j *journal, err error, wantErr string, want ...string) {
	t.Helper()
	got := ""
	if err != nil {
		got = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	if got != wantErr {
		t.Errorf("error is %q, want %q", got, wantErr)
	}
	if diff := cmp.Diff(want, j.lines); diff != "" {
		t.Error(diff)
	}
}

func TestRunDrainsAndStopsInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{begin: time.Now()}
		a := newApp(5*time.Second, time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := a.Run(ctx, func() { j.note("started"); j.noteIf(a.Draining(), "draining too early") },
			j.part("a", time.Second, nil, time.Second, nil),
			app.Part{Name: "nothing"},
			app.Part{Drain: func() { j.note("drain c"); j.noteIf(!a.Draining(), "told too early") }},
			app.Part{Drain: func() { j.note("drain d") }},
			j.part("b", 2*time.Second, nil, 3*time.Second, nil))
		j.note("over")
		if !a.Draining() {
			t.Error("not draining at the end")
		}
		check(t, j, err, "", "1s start a", "3s start b", "3s started", "10s drain d", "10s drain c", "15s stop b", "18s stop a", "19s over")
	})
}

func (j *journal) noteIf(is bool, what string) {
	if is {
		j.note(what)
	}
}

func TestRunWithoutDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{begin: time.Now()}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := newApp(0, time.Minute).Run(ctx, func() {}, j.part("a", 0, nil, 0, nil))
		check(t, j, err, "", "0s start a", "1s stop a")
	})
}

func TestAPartThatCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{begin: time.Now()}
		err := newApp(time.Hour, time.Minute).Run(t.Context(), func() { j.note("started") },
			j.part("a", 0, nil, time.Second, errors.New("stuck")), j.part("b", 0, nil, 0, nil),
			j.part("c", 0, errors.New("port is taken"), 0, nil), j.part("d", 0, nil, 0, nil))
		check(t, j, err, "start c: port is taken; stop a: stuck", "0s start a", "0s start b", "0s start c", "0s stop b", "0s stop a")
	})
}

func TestAPartThatFailsEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{begin: time.Now()}
		failed := make(chan error, 1)
		failing := j.part("b", 0, nil, 0, nil)
		failing.Failed = failed
		quiet := j.part("c", 0, nil, 0, nil)
		quiet.Failed = make(chan error)
		a := newApp(time.Hour, time.Minute)
		time.AfterFunc(4*time.Second, func() { failed <- errors.New("listener broke") })
		err := a.Run(t.Context(), func() {}, j.part("a", 0, nil, 0, nil), failing, quiet)
		check(t, j, err, "b ended: listener broke", "0s start a", "0s start b", "0s start c", "4s stop c", "4s stop b", "4s stop a")
		if !a.Draining() {
			t.Error("not draining although it ends")
		}
	})
}

// A part that failed before the last one started is not forgotten.
func TestAFailureDuringTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{begin: time.Now()}
		failed := make(chan error, 1)
		failed <- errors.New("broke at once")
		early := j.part("a", 0, nil, 0, nil)
		early.Failed = failed
		err := newApp(0, time.Minute).Run(t.Context(), func() {}, early, j.part("b", time.Second, nil, 0, nil))
		check(t, j, err, "a ended: broke at once", "0s start a", "1s start b", "1s stop b", "1s stop a")
	})
}

// The time for stopping is one for all, and exact; those that come late are
// still told to stop.
func TestStopTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{begin: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := newApp(2*time.Second, 10*time.Second).Run(ctx, func() {},
			j.part("a", 0, nil, 0, errors.New("also")), j.part("b", 0, nil, time.Hour, nil), j.part("c", 0, nil, 4*time.Second, nil))
		j.note("over")
		check(t, j, err, "stop b: context deadline exceeded; stop a: also",
			"0s start a", "0s start b", "0s start c", "2s stop c", "6s stop b", "12s stop a", "12s over")
	})
}

func TestConfig(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*app.Config)
		message string
	}{
		"default":  {func(*app.Config) {}, ""},
		"negative": {func(c *app.Config) { c.DrainDelay = -time.Second }, "--drain-delay is -1s, must not be negative"},
		"no time":  {func(c *app.Config) { c.StopTimeout = 0 }, "--stop-timeout is 0s, must be above 0"},
	} {
		cfg := app.DefaultConfig()
		tt.change(&cfg)
		got := ""
		if err := cfg.Validate(); err != nil {
			got = err.Error()
		}
		if got != tt.message {
			t.Errorf("%s: got %q, want %q", name, got, tt.message)
		}
	}
}

// Doors stop at the same time, whatever their order, and leave time for what lies
// behind them.
func TestDoorsStopTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{begin: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		one, two := j.part("one", 0, nil, time.Hour, nil), j.part("two", 0, nil, 3*time.Second, nil)
		one.Door, two.Door = true, true
		var stopped []time.Duration
		two.Stop = func(context.Context) error { stopped = append(stopped, time.Since(j.begin)); return nil }
		err := newApp(0, 10*time.Second).Run(ctx, func() {}, j.part("models", 0, nil, time.Second, nil), one, two)
		j.note("over")
		check(t, j, err, "stop one: context deadline exceeded", "0s start models", "0s start one", "0s start two", "0s stop one", "8s stop models", "9s over")
		if diff := cmp.Diff([]time.Duration{0}, stopped); diff != "" {
			t.Error(diff)
		}
	})
}
