package limit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"triptych/gateway/admission/limit"
)

// models are what the limits are tried on. Best is what the model does when as much
// as it can use is in flight, and knee how much that is.
var models = []struct {
	name  string
	make  func() service
	knee  float64
	noise float64 // how much slower or faster the machine becomes at random
}{
	{"16 at a time", func() service { return &slots{n: 16, takes: 30 * time.Millisecond, noise: .3} }, 16, 0},
	{"40 at a time, uneven", func() service { return &slots{n: 40, takes: 30 * time.Millisecond, noise: .8} }, 40, 0},
	{"batches of 16", func() service {
		return &batches{most: 16, instances: 1, fixed: 5 * time.Millisecond, each: 150 * time.Microsecond, noise: .1}
	}, 32, 0},
	{"batches of 64", func() service {
		return &batches{most: 64, instances: 1, fixed: 20 * time.Millisecond, each: 150 * time.Microsecond, noise: .1}
	}, 128, 0},
	{"16 at a time, a busy machine", func() service { return &slots{n: 16, takes: 30 * time.Millisecond, noise: .3} }, 16, .4},
	{"batches of 16, a busy machine", func() service {
		return &batches{most: 16, instances: 1, fixed: 5 * time.Millisecond, each: 150 * time.Microsecond, noise: .1}
	}, 32, .4},
}

// best is what a model does a second when there is no limit.
func best(made func() service, noise float64) float64 {
	w := newWorld(silent{limit.New(limit.Config{Fixed: 600})}, made(), 1<<30)
	if noise > 0 {
		w.others(noise, 150*time.Millisecond)
	}
	return w.run(20 * time.Second).rate
}

// The limit lets a model do nearly all it can, batches too, and does not have more
// wait inside than about as much again. From wherever it begins it gets there.
func TestFindsTheKnee(t *testing.T) {
	for _, m := range models {
		t.Run(m.name, func(t *testing.T) {
			most := best(m.make, m.noise)
			for _, from := range []int{8, 32, 200} {
				if from > 100 && m.noise > 0 {
					continue // what it does there it has never seen done better
				}
				cfg := limit.DefaultConfig()
				cfg.Initial, cfg.Min = from, 8
				l := limit.New(cfg)
				w := newWorld(silent{l}, m.make(), 1<<30)
				least, high := 0.93, 2.8*m.knee
				if m.noise > 0 {
					w.others(m.noise, 150*time.Millisecond)
					least, high = 0.75, 4*m.knee
				}
				w.run(20 * time.Second)
				f := w.run(20 * time.Second)
				if f.rate < least*most || f.limit > high {
					t.Errorf("from %d: %.0f of %.0f a second at a limit of %.0f, the knee is %.0f", from, f.rate, most, f.limit, m.knee)
				}
			}
		})
	}
}

// Where the stages say how they queue the limit comes down at once from where overload
// found it, and stays near the knee.
func TestStagesTell(t *testing.T) {
	for _, m := range models {
		t.Run(m.name, func(t *testing.T) {
			most := best(m.make, m.noise)
			cfg := limit.DefaultConfig()
			cfg.Initial, cfg.Min = 160, 8
			l, s := limit.New(cfg), m.make()
			w := newWorld(told{l, s}, s, 1<<30)
			least, high := 0.87, 1.9*m.knee
			if m.noise > 0 {
				w.others(m.noise, 150*time.Millisecond)
				least, high = 0.85, 2.5*m.knee
			}
			w.run(5 * time.Second)
			first := l.Centre()
			f := w.run(30 * time.Second)
			t.Logf("after 5 s the limit is %.0f, then %.0f with %.0f %% of the throughput and a latency of %s, at most %s", first, f.limit, 100*f.rate/most, f.latency, w.most)
			if first > 2.5*m.knee || f.limit > high || f.rate < least*most {
				t.Errorf("the knee is %.0f", m.knee)
			}
		})
	}
}

// Latency is bounded by the least that was seen also where one stage says how it queues
// and another, which is slower, does not. When the others have gone the limit grows again.
func TestSilentStage(t *testing.T) {
	l := limit.New(limit.DefaultConfig())
	now, held := time.Unix(1000, 0), 100*time.Millisecond
	phases := func(n int, crowd float64) {
		for range n {
			for range 10 * l.Now() {
				now = now.Add(held / time.Duration(l.Now()))
				l.Done(now, held, time.Duration(crowd*float64(held)), l.Now())
			}
		}
	}
	phases(1, 0)
	held = time.Second
	phases(20, .3)
	if got := l.Now(); got != 16 {
		t.Errorf("the limit is %d at ten times the least latency", got)
	}
	held = 100 * time.Millisecond
	phases(50, 0)
	if got := l.Now(); got < 32 {
		t.Errorf("the limit is %d when there is room again", got)
	}
}

// The limit stays in its bounds, whichever way it swings.
func TestBounds(t *testing.T) {
	cfg := limit.Config{Initial: 18, Min: 16, Max: 20}
	l := limit.New(cfg)
	w := newWorld(silent{l}, &slots{n: 18, takes: 30 * time.Millisecond, noise: .3}, 1<<30)
	seen := map[int]bool{}
	for range 2000 {
		w.run(10 * time.Millisecond)
		seen[l.Now()] = true
		if now := l.Now(); now < cfg.Min || now > cfg.Max {
			t.Fatalf("the limit is %d", now)
		}
	}
	if len(seen) < 2 {
		t.Errorf("the limit was always %v", seen)
	}
}

// TestAgainstOthers makes the figures of docs/adr/0022: run it with -v. It demands
// something of ours alone: the constants of ours were chosen on these very models,
// the others have their defaults.
func TestAgainstOthers(t *testing.T) {
	for _, m := range models {
		most := best(m.make, m.noise)
		for name, l := range map[string]limiter{
			"ours":                     silent{limit.New(limit.DefaultConfig())},
			"gradient2, tolerance 1.5": &gradient2{tolerance: 1.5, limit: 32}, "gradient2, tolerance 1.5, windows": &windowed{limiter: &gradient2{tolerance: 1.5, limit: 32}},
			"gradient2, tolerance 1": &gradient2{tolerance: 1, limit: 32}, "gradient2, tolerance 1, windows": &windowed{limiter: &gradient2{tolerance: 1, limit: 32}},
			"vegas": &vegas{limit: 32}, "vegas, windows": &windowed{limiter: &vegas{limit: 32}},
			"aimd": &aimd{limit: 32, timeout: 5 * time.Second},
		} {
			w := newWorld(l, m.make(), 1<<30)
			if m.noise > 0 {
				w.others(m.noise, 150*time.Millisecond)
			}
			w.run(10 * time.Minute)
			f := w.run(2 * time.Minute)
			t.Logf("| %s | %s | %.0f %% | %.0f | %.0f ms |", m.name, name, 100*f.rate/most, f.limit, float64(f.latency.Microseconds())/1000)
			if name == "ours" && f.rate < 0.75*most {
				t.Errorf("%s: %.0f of %.0f", m.name, f.rate, most)
			}
		}
	}
}

// A model that takes ten times as long for good needs no other limit; one that works
// on more, or on less, does, and gets it.
func TestModelChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		n     int
		takes time.Duration
	}{
		"slower": {16, 300 * time.Millisecond}, "faster": {16, 3 * time.Millisecond}, "more at a time": {64, 30 * time.Millisecond}, "fewer": {8, 30 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := &slots{n: 16, takes: 30 * time.Millisecond, noise: .3}
			cfg := limit.DefaultConfig()
			cfg.Min = 4
			w := newWorld(silent{limit.New(cfg)}, s, 1<<30)
			w.run(20 * time.Second)
			s.n, s.takes = tt.n, tt.takes
			w.run(90 * time.Second)
			f := w.run(60 * time.Second)
			if most := float64(tt.n) / tt.takes.Seconds() * 0.95; f.rate < 0.93*most || f.limit > 2.5*float64(tt.n) {
				t.Errorf("%.0f of %.0f a second at a limit of %.0f", f.rate, most, f.limit)
			}
		})
	}
}

// While callers ask for less than the limit nothing is learned.
func TestLittleDemand(t *testing.T) {
	l := limit.New(limit.DefaultConfig())
	newWorld(silent{l}, &slots{n: 16, takes: 30 * time.Millisecond, noise: .3}, 20).run(time.Minute)
	if got := l.Now(); got != limit.DefaultConfig().Initial {
		t.Errorf("the limit is %d", got)
	}
	if got := l.Baseline(); got != 0 {
		t.Errorf("the baseline is %s", got)
	}
}

// A model's own refusals cut the limit, of those at about the same time once, and
// never below its least.
func TestRefused(t *testing.T) {
	l := limit.New(limit.DefaultConfig())
	now := time.Unix(1000, 0)
	for range 10 {
		l.Refused(now)
	}
	if got := l.Centre(); got < 28.7 || got > 28.9 {
		t.Errorf("after refusals at once it is %.1f", got)
	}
	for range 100 {
		now = now.Add(time.Second)
		l.Refused(now)
	}
	if got := l.Centre(); got != 16 {
		t.Errorf("after many it is %.1f", got)
	}
}

func TestFixed(t *testing.T) {
	cfg := limit.DefaultConfig()
	cfg.Fixed = 7
	l := limit.New(cfg)
	w := newWorld(silent{l}, &slots{n: 16, takes: 30 * time.Millisecond}, 1<<30)
	w.run(10 * time.Second)
	l.Refused(time.Unix(1000, 0))
	if l.Now() != 7 || l.Centre() != 7 {
		t.Errorf("the limit is %d, %.0f", l.Now(), l.Centre())
	}
}

func TestConfig(t *testing.T) {
	cfg := limit.DefaultConfig()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	cfg.RegisterFlags(fs)
	args := []string{"--admission-limit=1", "--admission-initial-limit=3", "--admission-min-limit=2", "--admission-max-limit=4"}
	if err := fs.Parse(args); err != nil || cfg != (limit.Config{Fixed: 1, Initial: 3, Min: 2, Max: 4}) {
		t.Errorf("%+v, %v", cfg, err)
	}
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	for flag, cfg := range map[string]limit.Config{
		"--admission-limit ":         {Fixed: -1, Initial: 1, Min: 1, Max: 1},
		"--admission-min-limit ":     {Initial: 1, Min: 0, Max: 1},
		"--admission-max-limit ":     {Initial: 2, Min: 2, Max: 1},
		"--admission-initial-limit ": {Initial: 1, Min: 2, Max: 4},
	} {
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
