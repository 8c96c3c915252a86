package capacity_test

import (
	"context"
	"testing"
	"time"

	"triptych/shared/capacity"
)

func TestTravels(t *testing.T) {
	t.Parallel()
	want := capacity.Report{Slots: 2, Running: 1, Waiting: 7, Age: 1200 * time.Microsecond}
	if got := want.String(); got != "slots=2;running=1;waiting=7;age_us=1200" {
		t.Errorf("it travels as %q", got)
	}
	if got, ok := capacity.Parse(want.String()); got != want || !ok {
		t.Errorf("it arrives as %+v, %t", got, ok)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want capacity.Report
		ok   bool
	}{
		"slots alone":       {"slots=3", capacity.Report{Slots: 3}, true},
		"a later release's": {"slots=3;rows=16;waiting=1", capacity.Report{Slots: 3, Waiting: 1}, true},
		"nothing":           {"", capacity.Report{}, false},
		"no slots":          {"running=1", capacity.Report{Running: 1}, false},
		"slots of none":     {"slots=0", capacity.Report{}, false},
		"below nothing":     {"slots=-1", capacity.Report{}, false},
		"beyond all":        {"slots=1;waiting=99999999999", capacity.Report{}, false},
		"not a number":      {"slots=many", capacity.Report{}, false},
		"no value":          {"slots", capacity.Report{}, false},
		"another's words":   {"queue depth: 3", capacity.Report{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := capacity.Parse(test.text); got != test.want || ok != test.ok {
				t.Errorf("got %+v, %t", got, ok)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("slots=2;running=2;waiting=7;age_us=1200")
	f.Add(";;=;slots=")
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := capacity.Parse(text)
		if again, okAgain := capacity.Parse(r.String()); ok && (again != r || !okAgain) {
			t.Errorf("%q is %+v, and then %+v", text, r, again)
		}
	})
}

func TestTold(t *testing.T) {
	t.Parallel()
	if capacity.Of(t.Context()) != nil {
		t.Error("somebody listens to a context of nobody's")
	}
	told := capacity.Listen(t.Context(), nil)
	if !told.Wants("a", 1, time.Now()) {
		t.Error("a line that is not known is told nothing")
	}
	if _, ok := told.Report(); ok {
		t.Error("a report was told that was not")
	}
	inner, cancel := context.WithCancel(told)
	defer cancel()
	want := capacity.Report{Slots: 1}
	capacity.Of(inner).Tell(want)
	if got, ok := told.Report(); got != want || !ok {
		t.Errorf("got %+v, %t", got, ok)
	}
}

// TestLine says something of each version from time to time.
func TestLine(t *testing.T) {
	t.Parallel()
	told := capacity.Listen(t.Context(), capacity.NewLine())
	now := time.Now()
	for i, step := range []struct {
		model   string
		version int64
		after   time.Duration
		want    bool
	}{
		{"a", 1, 0, true},
		{"a", 1, time.Millisecond, false},
		{"a", 2, 0, true},
		{"b", 1, 0, true},
		{"a", 1, capacity.Pause, true},
		{"a", 1, capacity.Pause - 1, false},
	} {
		now = now.Add(step.after)
		if got := told.Wants(step.model, step.version, now); got != step.want {
			t.Errorf("step %d: %t", i, got)
		}
	}
	for i := range int64(1000) { // versions come and go
		if !told.Wants("c", i, now) {
			t.Errorf("nothing is said of version %d", i)
		}
	}
}

func BenchmarkString(b *testing.B) {
	r := capacity.Report{Slots: 2, Running: 2, Waiting: 70, Age: time.Second}
	b.ReportAllocs()
	for b.Loop() {
		_ = r.String()
	}
}

func BenchmarkParse(b *testing.B) {
	text := capacity.Report{Slots: 2, Running: 2, Waiting: 70, Age: time.Second}.String()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = capacity.Parse(text)
	}
}
