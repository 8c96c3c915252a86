package batcher

import (
	"testing"
	"time"
)

// A crowd of rows that cost as much alone runs in pairs, as long as that costs nobody
// what he would have had alone.
func TestPairs(t *testing.T) {
	now := time.Unix(1, 0)
	type situation struct {
		cost      *cost
		instances int
		queue     []*item
		scene     scene
	}
	bulk := func(items []*item) {
		for _, it := range items {
			it.bulk, it.level = true, 1
		}
	}
	linear := func() *cost { return learned(map[int]time.Duration{1: 8 * ms, 2: 16 * ms, 4: 32 * ms, 8: 64 * ms}) }
	for name, tt := range map[string]struct {
		change func(*situation)
		want   int
	}{
		"a crowd":            {func(*situation) {}, 2},
		"three":              {func(s *situation) { s.queue = s.queue[:3] }, 1},
		"one instance":       {func(s *situation) { s.instances = 1 }, 2},
		"one and three":      {func(s *situation) { s.instances, s.queue = 1, s.queue[:3] }, 1},
		"three instances":    {func(s *situation) { s.instances = 3 }, 1},
		"room for two":       {func(s *situation) { s.scene.limit = 2 }, 2},
		"room for one":       {func(s *situation) { s.scene.limit = 1 }, 1},
		"an idle instance":   {func(s *situation) { s.scene.idle = true }, 1},
		"5 % dearer":         {func(s *situation) { s.cost = learned(map[int]time.Duration{1: 8 * ms, 2: 16800 * time.Microsecond}) }, 2},
		"7 % dearer":         {func(s *situation) { s.cost = learned(map[int]time.Duration{1: 8 * ms, 2: 17120 * time.Microsecond}) }, 1},
		"no pair has run":    {func(s *situation) { s.cost = learned(map[int]time.Duration{1: 8 * ms, 4: 32 * ms}) }, 2},
		"an urgent one":      {func(s *situation) { s.queue[0].level = -1 }, 1},
		"late in a pair":     {func(s *situation) { s.queue[0].deadline = now.Add(15 * ms) }, 1},
		"the second late":    {func(s *situation) { s.queue[1].deadline = now.Add(15 * ms) }, 1},
		"in time in a pair":  {func(s *situation) { s.queue[1].deadline = now.Add(17 * ms) }, 2},
		"the third late":     {func(s *situation) { s.queue[2].deadline = now.Add(15 * ms) }, 2},
		"two rows in one":    {func(s *situation) { s.queue[0].rows = 2 }, 2},
		"the second has two": {func(s *situation) { s.queue[1].rows = 2 }, 1},
		"jobs behind one":    {func(s *situation) { bulk(s.queue[1:]) }, 1},
		"jobs":               {func(s *situation) { bulk(s.queue) }, 2},
		"jobs, callers come": {func(s *situation) {
			s.scene.watched = true
			bulk(s.queue)
		}, 1},
		"no crowd without jobs": {func(s *situation) { bulk(s.queue[3:]) }, 1},
		"more, in time":         {func(s *situation) { s.cost.batches, s.queue[2].deadline = probeEvery+10, now.Add(33*ms) }, 4},
		"more, late":            {func(s *situation) { s.cost.batches, s.queue[2].deadline = probeEvery+10, now.Add(31*ms) }, 2},
		"more, two in one":      {func(s *situation) { s.cost.batches, s.queue[0].rows = probeEvery+10, 2 }, 2},
		"long without more":     {func(s *situation) { s.cost.batches += probeEvery }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := situation{cost: linear(), instances: 2, scene: scene{now: now, limit: 8}}
			for range 5 {
				s.queue = append(s.queue, &item{rows: 1})
			}
			tt.change(&s)
			l := &lane{cost: *s.cost, waiting: s.queue}
			l.cost.points[0].last = l.cost.batches // a row alone is not to be tried
			for _, it := range s.queue {
				l.rows += it.rows
			}
			if got := (adaptive{instances: s.instances}).cut(l, s.queue, s.scene); got.rows != tt.want {
				t.Errorf("%d rows (%s), want %d", got.rows, got.reason, tt.want)
			}
		})
	}
}
