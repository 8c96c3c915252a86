package soak

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/stack/stacktest"
	"triptych/loadtest/measure"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) {
	if status, is := stacktest.Main(); is {
		os.Exit(status)
	}
	testkit.Main(m)
}

func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(t.Context(), args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestRunRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ flag, value, want string }{
		"duration":    {"--duration", "1ms", "--duration is 1ms"},
		"window":      {"--window", "0s", "--window is 0s"},
		"load":        {"--load", "0", "--load is 0"},
		"swaps":       {"--swaps", "3", "--swaps is 3, must be an even number"},
		"kills":       {"--kills", "-1", "--kills is -1"},
		"photographs": {"--photographs", "0", "--photographs is 0"},
		"ours":        {"--binaries", "/nowhere", "there is no /nowhere/preprocess"},
		"no flag":     {"--rows", "9", "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, stderr := run(t, tt.flag, tt.value); status != rows.NotRun || !strings.Contains(stderr, tt.want) {
				t.Errorf("status %d, %q, want %q", status, stderr, tt.want)
			}
		})
	}
}

// A short one, on a machine that may be busy: what was sent is accounted for, and no
// answer is wrong, as in a long one.
func TestSoak(t *testing.T) {
	output, page := filepath.Join(t.TempDir(), "soak.json"), filepath.Join(t.TempDir(), "soak.html")
	status, stdout, stderr := run(t,
		"--models", testkit.Path(t, "models"), "--samples", testkit.Path(t, "testdata", "images"), "--photographs", "2", "--binaries", stacktest.Binaries(t),
		"--duration", "8s", "--window", "300ms", "--load", "0.2", "--swaps", "2", "--kills", "2", "--output", output, "--page", page)
	if status != rows.Good {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	for _, name := range []string{"wrong answers", "unanswered or unaccounted", "failed otherwise"} {
		found := false
		for line := range strings.Lines(stdout) {
			if strings.Contains(line, "soak: "+name) {
				found = strings.Contains(line, "good")
			}
		}
		if !found {
			t.Errorf("%s is not good:\n%s%s", name, stdout, stderr)
		}
	}
	for _, file := range []string{output, page} {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestEvents(t *testing.T) {
	s := settings{duration: 30 * time.Minute, swaps: 20, kills: 20}
	list := s.events()
	kills := map[string]int{}
	for i, e := range list {
		if e.at < 6*time.Minute || e.at > 24*time.Minute || i > 0 && e.at-list[i-1].at < 20*time.Second {
			t.Errorf("event %d comes at %s", i, e.at)
		}
		kills[e.kill]++
	}
	if len(list) != 40 || kills[""] != 20 || kills["preprocess"] != 7 || kills["postprocess"] != 6 {
		t.Errorf("%d events: %v", len(list), kills)
	}
}

func TestFates(t *testing.T) {
	got := fatesOf([]measure.FaultCount{
		{Kind: measure.WrongAnswer, Count: 1},
		{Kind: measure.BadAnswer, Count: 2},
		{Kind: measure.Timeout, Count: 3},
		{Kind: measure.Overrun, Count: 4},
		{Kind: "gRPC RESOURCE_EXHAUSTED BUSY", Count: 5},
		{Kind: "gRPC UNAVAILABLE", Count: 6},
		{Kind: "gRPC INVALID_ARGUMENT", Count: 7},
	})
	if got != (fates{wrong: 3, unanswered: 7, refused: 5, away: 6, other: 7}) {
		t.Errorf("got %+v", got)
	}
}

// toy rejects the bad ones.
type toy struct{ err error }

func (t toy) Do(context.Context, int) (measure.Answer, error) { return measure.Answer{}, t.err }
func (toy) Close() error                                      { return nil }

func TestMixture(t *testing.T) {
	rejected := &measure.Fault{Kind: "gRPC INVALID_ARGUMENT BROKEN_IMAGE"}
	away := &measure.Fault{Kind: "gRPC UNAVAILABLE"}
	for name, tt := range map[string]struct {
		item     int
		err      error
		rejected int64
		good     bool
	}{
		"good":                   {0, nil, 0, true},
		"good one is rejected":   {0, rejected, 0, false},
		"bad one is rejected":    {99, rejected, 1, true},
		"bad one finds no stage": {99, away, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &mixture{Target: toy{tt.err}, photographs: 3}
			_, err := m.Do(t.Context(), tt.item)
			if (err == nil) != tt.good || m.rejected.Load() != tt.rejected || m.sent.Load() != 1 {
				t.Errorf("error %v, %d rejected, %d sent", err, m.rejected.Load(), m.sent.Load())
			}
		})
	}
	m := &mixture{photographs: 3}
	if got := [...]int{m.photograph(0), m.photograph(98), m.photograph(100)}; got != [...]int{0, 2, 0} {
		t.Errorf("photographs %v", got)
	}
}
