package engine

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sea is a tide whose ebbs are counted. Who asks for one when another has just begun
// gets a second one, at the same time: they count once.
type sea struct {
	tide
	seen sync.Mutex
	ebbs []time.Duration // when, after the begin
	held int             // ebbs that leave something
}

func newSea(spread int64) *sea {
	begin := time.Now()
	s := &sea{}
	s.quiet, s.spread = 10*time.Second, spread
	s.ebb = func() bool {
		s.seen.Lock()
		defer s.seen.Unlock()
		if at := time.Since(begin); !slices.Contains(s.ebbs, at) {
			s.ebbs = append(s.ebbs, at)
		}
		if s.held > 0 {
			s.held--
			return false
		}
		return true
	}
	return s
}

func (s *sea) run(bytes int64, took time.Duration) {
	s.rise(bytes)
	time.Sleep(took)
	s.fall(bytes)
}

func TestTide(t *testing.T) {
	cases := map[string]struct {
		happens func(s *sea)
		want    []time.Duration
	}{
		"nothing": {func(*sea) {}, nil},
		"small ones, for ever": {func(s *sea) {
			for range 100 {
				s.run(1, time.Second)
			}
		}, nil},
		"a peak, then idle": {func(s *sea) {
			s.run(1, time.Second)
			s.run(16, time.Second)
		}, []time.Duration{12 * time.Second}},
		"a peak, then small ones": {func(s *sea) {
			s.run(16, time.Second)
			for range 30 {
				s.run(1, time.Second)
			}
		}, []time.Duration{11 * time.Second}},
		"peaks that come again": {func(s *sea) {
			s.run(1, 0)
			for range 5 {
				s.run(16, time.Second)
				s.run(1, 8*time.Second)
			}
		}, []time.Duration{(5*9 - 8 + 10) * time.Second}},
		"a run that is long": {func(s *sea) {
			s.run(1, 0)
			s.run(16, time.Minute)
		}, []time.Duration{70 * time.Second}},
		"ebbs that leave something": {func(s *sea) {
			s.held = 3
			s.run(1, time.Second)
			s.run(16, time.Second)
		}, []time.Duration{12 * time.Second, 22 * time.Second, 42 * time.Second, 82 * time.Second}},
		"a small one that memory was short for, and something is left": {func(s *sea) {
			s.held = 1
			s.run(1, time.Second)
			s.now()
		}, []time.Duration{time.Second, 11 * time.Second}},
		"one that memory was short for": {func(s *sea) {
			s.run(16, time.Second)
			s.now()
			s.now()
		}, []time.Duration{time.Second}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSea(1)
				c.happens(s)
				time.Sleep(5 * time.Minute)
				s.stop()
				if len(s.ebbs) != len(c.want) {
					t.Fatalf("ebbs at %v, want %v", s.ebbs, c.want)
				}
				for i, at := range s.ebbs {
					if at != c.want[i] {
						t.Errorf("ebb at %s, want %s", at, c.want[i])
					}
				}
			})
		})
	}
}

// As many small runs at once as there are instances are no peak.
func TestTideOfInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSea(4)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { s.run(1, time.Second) })
		}
		group.Wait()
		time.Sleep(time.Minute)
		s.stop()
		if len(s.ebbs) != 0 {
			t.Errorf("ebbs at %v", s.ebbs)
		}
	})
}

// Stop waits for an ebb that is going on and prevents those to come.
func TestTideStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSea(1)
		over := false
		s.ebb = func() bool {
			time.Sleep(time.Second)
			over = true
			return false
		}
		s.run(1, 0)
		s.run(16, 0)
		time.Sleep(10*time.Second + time.Millisecond)
		s.stop()
		if !over {
			t.Error("stopped in the middle of an ebb")
		}
		s.ebb = func() bool {
			t.Error("ebb after the stop")
			return true
		}
		s.run(32, 0)
		s.now()
		time.Sleep(time.Minute)
		s.stop()
	})
}
