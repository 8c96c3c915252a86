package engine

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/shared/drift"
	"triptych/shared/oip"
	"triptych/shared/testkit"
)

// Which models get a second session, and what the runtime is told for it.
func TestWidened(t *testing.T) {
	cases := map[string]struct {
		config   string
		settings Settings
		at       placement
		cores    int
		bytes    int64
		want     []string // nil: none
	}{
		"by default":      {"", Settings{}, placement{}, 8, 10, []string{"intra 8", "session.force_spinning_stop 1", "session.intra_op.allow_spinning 1"}},
		"two cores":       {"", Settings{}, placement{}, 2, 10, []string{"intra 2"}},
		"one core":        {"", Settings{}, placement{}, 1, 10, nil},
		"a GPU":           {parameter("wide_session", "true"), Settings{}, placement{device: Device{Kind: CUDA}}, 8, 10, nil},
		"too large":       {"", Settings{}, placement{}, 8, 11, nil},
		"large, wanted":   {parameter("wide_session", "true"), Settings{}, placement{}, 8, 11, []string{"intra 8"}},
		"not wanted":      {parameter("wide_session", "false"), Settings{}, placement{}, 8, 10, nil},
		"threads said":    {parameter("intra_op_thread_count", "3"), Settings{}, placement{}, 8, 10, nil},
		"said, wanted":    {parameter("intra_op_thread_count", "3") + parameter("wide_session", "true"), Settings{}, placement{}, 8, 10, []string{"intra 8"}},
		"all, wanted":     {parameter("intra_op_thread_count", "8") + parameter("wide_session", "true"), Settings{}, placement{}, 8, 10, nil},
		"threads by flag": {"", Settings{IntraOpThreads: 3}, placement{}, 8, 10, nil},
		"instances said":  {"", Settings{}, placement{count: 2}, 8, 10, nil},
		"one, wanted":     {parameter("wide_session", "true"), Settings{}, placement{count: 1}, 8, 10, nil},
		"parallel":        {parameter("execution_mode", "1"), Settings{}, placement{}, 8, 10, nil},
		"no spinning":     {parameter("intra_op_allow_spinning", "false"), Settings{}, placement{}, 8, 10, []string{"session.intra_op.allow_spinning 0"}},
		"own entries":     {parameter("session.force_spinning_stop", "0"), Settings{}, placement{}, 8, 10, []string{"session.force_spinning_stop 0"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			first, err := tune(parsed(t, c.config), c.settings)
			if err != nil {
				t.Fatal(err)
			}
			before := first.at(c.cores, c.at)
			wide, ok := first.widened(c.cores, c.at, c.bytes, 10)
			if ok != (c.want != nil) {
				t.Fatalf("wide %t, want %v", ok, c.want)
			}
			if diff := cmp.Diff(before.entries, first.at(c.cores, c.at).entries); diff != "" {
				t.Errorf("the narrow session is told otherwise: %s", diff)
			}
			if !ok {
				return
			}
			var r recorder
			if err := wide.options(c.at.device).apply(&r); err != nil {
				t.Fatal(err)
			}
			for _, line := range c.want {
				if !slices.Contains(r.said, line) {
					t.Errorf("told %q, want %q", r.said, line)
				}
			}
		})
	}
	_, err := tune(parsed(t, parameter("wide_session", "yes")), Settings{})
	if err == nil || !strings.Contains(err.Error(), `"wide_session": is "yes", must be one of auto, true, false`) {
		t.Errorf("error %v", err)
	}
}

func TestTraffic(t *testing.T) {
	var traffic traffic
	alone := func() (before, after bool) {
		before = traffic.begin()
		return before, traffic.end()
	}
	pair := func() {
		traffic.begin()
		if traffic.begin() {
			t.Error("the second of two runs is told that it is alone")
		}
		for range 2 {
			if traffic.end() {
				t.Error("one of two runs was alone")
			}
		}
	}
	for range 3 {
		if before, after := alone(); !before || !after {
			t.Errorf("one run is alone: %t, was: %t", before, after)
		}
	}
	for range 3 {
		pair()
	}
	if before, after := alone(); before || !after {
		t.Errorf("after some that met, one run counts on being alone: %t, was: %t", before, after)
	}
	runs := 0
	for ; runs < 100; runs++ {
		if before, _ := alone(); before {
			break
		}
	}
	if runs < 3 || runs > 16 {
		t.Errorf("the crowd is forgotten after %d runs", runs)
	}
	// Whoever joins the one and outlives him was not alone either.
	traffic.begin()
	traffic.begin()
	traffic.end()
	if traffic.end() {
		t.Error("a run that began beside another was alone")
	}
}

func TestGain(t *testing.T) {
	const ms = time.Millisecond
	cases := map[string]struct {
		narrow, wide time.Duration // 0: never ran
		want         int
	}{
		"nothing known":   {0, 0, wide},
		"narrow unknown":  {0, 5 * ms, wide},
		"wide unknown":    {9 * ms, 0, wide},
		"faster":          {9 * ms, 5 * ms, wide},
		"hardly faster":   {9 * ms, 8500 * time.Microsecond, narrow},
		"slower":          {9 * ms, 12 * ms, narrow},
		"nothing to gain": {10, 10, narrow},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var g gain
			for gear, took := range []time.Duration{c.narrow, c.wide} {
				for n := range 8 {
					if took > 0 {
						g.learn(gear, 10, took*time.Duration(1+3/(n+1))) // the first ones take longer
					}
				}
			}
			rounds := trialEvery[c.want] + trialRuns
			others := 0
			for range 10 * rounds {
				if g.choose() != c.want {
					others++
				}
			}
			if known := g.first[c.want] > 0; known && others != 10*trialRuns || !known && others != 0 {
				t.Errorf("%d runs of %d in the other gear", others, 10*rounds)
			}
		})
	}
	t.Run("follows the machine", func(t *testing.T) {
		var g gain
		const runs = 2000
		turn := func(narrowTook, wideTook time.Duration) (inWide int) {
			for range runs {
				gear := g.choose()
				g.learn(gear, 10, []time.Duration{narrowTook, wideTook}[gear])
				inWide += gear
			}
			return inWide
		}
		quiet, busy, again := turn(9*ms, 5*ms), turn(10*ms, 14*ms), turn(9*ms, 5*ms)
		if quiet < runs*98/100 || busy > runs/5 || again < runs*85/100 {
			t.Errorf("of %d runs are wide: %d, with a neighbour %d, then %d", runs, quiet, busy, again)
		}
	})
	t.Run("one late run changes nothing", func(t *testing.T) {
		var g gain
		for range 8 {
			g.learn(narrow, 10, 9*ms)
			g.learn(wide, 10, 5*ms)
		}
		g.learn(wide, 10, time.Hour)
		if got := g.choose(); got != wide {
			t.Errorf("gear %d", got)
		}
	})
}

// twoGears is a session of a version of the sample model with both gears, also on a machine of one core.
func twoGears(t *testing.T, lib *Library, version string) *Session {
	t.Helper()
	directory := testkit.Path(t, "models", "efficientnet_lite0")
	text, err := os.ReadFile(filepath.Join(directory, "config.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := parsed(t, string(text))
	load, err := lib.prepare(cfg, filepath.Join(directory, version), Settings{Logger: slog.New(slog.DiscardHandler), WideBytes: 256 << 20, quiet: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{model: "m", contract: load.contract, logger: load.logger, traffic: lib.traffic, usage: lib.usage}
	p := placement{device: Device{Kind: CPU}}
	r, err := openReplica(load, p, load.tuning.at(2, p))
	if err != nil {
		t.Fatal(err)
	}
	s.replicas = []*replica{r}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	second, ok := load.tuning.widened(2, p, load.bytes, load.wideBytes)
	if !ok {
		t.Fatal("no second session")
	}
	if r.wide, err = openReplica(load, p, second); err != nil {
		t.Fatal(err)
	}
	return s
}

func picture(seed, rows int) []oip.Tensor {
	data := make([]byte, rows*224*224*3)
	for i := range data {
		data[i] = byte((i*seed + i/997) % 251)
	}
	return []oip.Tensor{{Name: "image", Datatype: "UINT8", Shape: []int64{int64(rows), 224, 224, 3}, Data: data}}
}

// Both gears of both versions give the same answers, one image and several.
func TestGearsAgree(t *testing.T) {
	lib := openLibrary(t)
	defer func() { _ = lib.Close() }()
	for _, version := range []string{"1", "2"} {
		t.Run("version "+version, func(t *testing.T) {
			s := twoGears(t, lib, version)
			for seed := 1; seed < 6; seed++ {
				in := picture(seed, seed)
				var answers []oip.Tensor
				for _, at := range s.everywhere() {
					out, err := s.runThere(t.Context(), at, in)
					if err != nil {
						t.Fatal(err)
					}
					answers = append(answers, out[0])
				}
				if len(answers) != 2 {
					t.Fatalf("%d gears", len(answers))
				}
				d, err := drift.Compare(answers[0], answers[1], true)
				if err != nil || d.Relative() > mateful {
					t.Errorf("picture %d: the gears differ by %g, error %v", seed, d.Relative(), err)
				}
				if !bytes.Equal(answers[0].Data, answers[1].Data) {
					t.Logf("picture %d: not equal to the bit, %g", seed, d.Relative())
				}
			}
		})
	}
}

// A run that is alone is wide; runs that meet are right all the same, and when all
// are over nothing is counted any longer.
func TestGearsUnderLoad(t *testing.T) {
	lib := openLibrary(t)
	defer func() { _ = lib.Close() }()
	s := twoGears(t, lib, "2")
	r := s.replicas[0]
	r.gain.gears, r.gain.first = [2]float64{1e12, 1e-3}, [2]int{firstRuns, firstRuns} // wide gains whatever the machine does
	want, err := s.Run(t.Context(), picture(7, 1))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.slots) != 0 || len(r.wide.slots) != 1 {
		t.Errorf("%d runs narrow and %d wide, want one wide", len(r.slots), len(r.wide.slots))
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 8 {
				got, err := s.Run(t.Context(), picture(7, 1))
				if err != nil {
					t.Error(err)
					return
				}
				if d, err := drift.Compare(want[0], got[0], true); err != nil || d.Relative() > mateful {
					t.Errorf("differs by %g, error %v", d.Relative(), err)
				}
			}
		})
	}
	group.Wait()
	before := len(r.wide.slots)
	lib.traffic.begin() // a run of another model
	if _, err := s.Run(t.Context(), picture(7, 1)); err != nil {
		t.Fatal(err)
	}
	lib.traffic.end()
	if len(r.slots) == 0 || len(r.wide.slots) != before {
		t.Error("a run beside another was not narrow")
	}
	if lib.traffic.running != 0 || r.running != 0 {
		t.Errorf("%d and %d runs are counted, none is there", lib.traffic.running, r.running)
	}
	if _, err := s.Run(t.Context(), nil); err == nil || lib.traffic.running != 0 {
		t.Errorf("error %v, %d runs are counted", err, lib.traffic.running)
	}
}

// What a peak took in the wide session is given back too.
func TestWidePeakIsGivenBack(t *testing.T) {
	lib := openLibrary(t)
	defer func() { _ = lib.Close() }()
	s := twoGears(t, lib, "1")
	at := s.everywhere()[1]
	batches := func(rows int) {
		for range 3 {
			if _, err := s.runThere(t.Context(), at, picture(1, rows)); err != nil {
				t.Fatal(err)
			}
		}
	}
	batches(1)
	trim()
	const bound = 48 << 20
	small := testkit.Resident(t)
	batches(16)
	t.Logf("small %d, peak %d MiB", small>>20, testkit.Resident(t)>>20)
	testkit.Eventually(t, 20*time.Second, "the peak is given back", func() bool { return testkit.Resident(t) < small+bound })
}

// The size of a model is that of its folder.
func TestWeigh(t *testing.T) {
	directory := t.TempDir()
	for file, size := range map[string]int{"model.onnx": 5, "weights/a": 7} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(directory, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, file), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := weigh(filepath.Join(directory, "model.onnx")); got != 12 {
		t.Errorf("%d bytes, want 12", got)
	}
	if got := weigh(filepath.Join(directory, "none", "model.onnx")); got != 0 {
		t.Errorf("%d bytes where nothing is", got)
	}
}
