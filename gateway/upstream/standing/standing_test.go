package standing_test

import (
	"testing"
	"time"

	"triptych/gateway/upstream/standing"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// course is a standing, and the time.
type course struct {
	*standing.Standing
	t   *testing.T
	now time.Time
}

func begin(t *testing.T) *course {
	t.Helper()
	return &course{standing.New(time.Second), t, time.Now()}
}

func (c *course) pass(d time.Duration) { c.now = c.now.Add(d) }

func (c *course) share(want float64, wantTrial bool) {
	c.t.Helper()
	if share, trial := c.Share(c.now); share < want-.01 || share > want+.01 || trial != wantTrial {
		c.t.Errorf("its share is %v, on trial %t; want %v, %t", share, trial, want, wantTrial)
	}
}

func (c *course) end(v standing.Verdict, onTrial, wantToo, wantBack bool) {
	c.t.Helper()
	if too, back := c.End(c.now, v, onTrial); too != wantToo || back != wantBack {
		c.t.Errorf("too many failures: %t, back: %t; want %t, %t", too, back, wantToo, wantBack)
	}
}

// look looks after it at a time when it must not yet, and when it may.
func (c *course) look(after time.Duration, well bool) {
	c.t.Helper()
	c.pass(after - time.Millisecond)
	if c.Look(c.now) {
		c.t.Errorf("it is looked at before %s", after)
	}
	c.pass(time.Millisecond)
	if !c.Look(c.now) || c.Look(c.now) {
		c.t.Error("it is looked at not once")
	}
	c.Found(c.now, well)
}

func TestFailuresInARow(t *testing.T) {
	t.Parallel()
	c := begin(t)
	for range standing.InARow - 1 {
		c.end(standing.Bad, false, false, false)
	}
	c.end(standing.None, false, false, false)
	c.end(standing.Good, false, false, false)
	for range standing.InARow - 1 {
		c.end(standing.Bad, false, false, false)
	}
	c.end(standing.Bad, false, true, false)
	if failed, calls := c.Failures(c.now); failed != 9 || calls != 10 {
		t.Errorf("%d of %d failed", failed, calls)
	}
	c.pass(15 * time.Second)
	if failed, _ := c.Failures(c.now); failed != 9 {
		t.Errorf("%d failed lately", failed)
	}
	c.pass(15 * time.Second)
	if _, calls := c.Failures(c.now); calls != 0 {
		t.Errorf("%d calls lately", calls)
	}
}

// TestThereAndBack goes out, fails its trial, passes it, and comes back.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	c := begin(t)
	c.share(1, false)
	c.Leave(c.now, false)
	c.Leave(c.now, false)
	c.share(0, false)
	c.look(time.Second, false)
	c.share(0, false)
	c.look(time.Second, true)
	c.share(0, true)
	if !c.Out() || !c.Try() || c.Try() {
		t.Error("not one call is on trial")
	}
	c.end(standing.None, true, false, false)
	if !c.Try() {
		t.Error("a call that says nothing was the trial")
	}
	c.end(standing.Bad, true, true, false)
	c.Leave(c.now, false)
	c.look(2*time.Second, true) // out for the second time
	if !c.Try() {
		t.Error("there is no second trial")
	}
	c.end(standing.Good, true, false, true)
	c.share(.1, false)
	c.pass(2 * time.Second)
	c.share(.5, false) // it was away for 4 s
	c.pass(2 * time.Second)
	c.share(1, false)
	if c.Out() || c.Try() {
		t.Error("it is not back")
	}
	c.Leave(c.now, false)
	c.look(3*time.Second, true) // so soon again
	c.end(standing.Good, true, false, true)
	c.pass(time.Minute)
	c.Leave(c.now, false)
	c.look(time.Second, true) // it had been well for long
}

// TestLateAnswer comes while it is out and while it is looked at: it brings back one
// that was silent, and not one that failed.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{true, false} {
		c := begin(t)
		c.Leave(c.now, silent)
		c.pass(time.Second)
		if !c.Look(c.now) {
			t.Error("nobody looks")
		}
		c.end(standing.Good, false, false, silent)
		c.Found(c.now, true)
		if c.Out() == silent {
			t.Errorf("silent %t, out %t", silent, c.Out())
		}
	}
}

// TestLongestTimes are not exceeded, however often it fails.
func TestLongestTimes(t *testing.T) {
	t.Parallel()
	c := begin(t)
	for range 100 {
		c.Leave(c.now, false)
		c.pass(30 * time.Second)
		if !c.Look(c.now) {
			t.Fatal("nobody looks after 30 s")
		}
		c.Found(c.now, true)
		c.Try()
		c.end(standing.Bad, true, true, false)
	}
	c.Leave(c.now, true)
	c.end(standing.Good, false, false, true)
	c.pass(5 * time.Second)
	c.share(1, false)
}

// A base time beyond the longest keeps nobody away for longer than that.
func TestLongBaseTime(t *testing.T) {
	t.Parallel()
	c := &course{standing.New(10 * time.Minute), t, time.Now()}
	c.Leave(c.now, false)
	c.look(30*time.Second, false)
	c.look(30*time.Second, true)
	c.share(0, true)
}
