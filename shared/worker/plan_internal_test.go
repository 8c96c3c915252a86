package worker

import (
	"math/rand/v2"
	"testing"
	"time"

	"triptych/shared/stream"
)

// queue is the consumers of a step stream, as JetStream has them.
type queue struct {
	waiting [stream.Levels + 1]int
	asked   [stream.Levels + 1]request
	until   [stream.Levels + 1]time.Time
}

// serve gives a puller what it asked for. It returns how many tasks of which level
// came.
func (q *queue) serve(p *plan, now time.Time) (came [stream.Levels + 1]int) {
	for level := range q.asked {
		r := &q.asked[level]
		for r.batch > 0 && q.waiting[level] > 0 {
			r.batch--
			q.waiting[level]--
			came[level]++
			p.got(level, now)
		}
		if r.batch > 0 && (r.stands == 0 || now.After(q.until[level])) {
			r.batch = 0
			p.over(level, r.number)
		}
	}
	return came
}

// Whatever comes and goes, never do more tasks come than there are slots, and no
// level is left out.
func TestPlan(t *testing.T) {
	for _, slots := range []int{1, 2, 3, 5, 6, 16, 64} {
		random := rand.New(rand.NewPCG(1, uint64(slots)))
		var p plan
		var q queue
		now := time.Now()
		held, served := 0, [stream.Levels + 1]int{}
		for range 20_000 {
			now = now.Add(time.Millisecond)
			for level := 1; level <= stream.Levels; level++ {
				if q.waiting[level] < 100 && random.IntN(3) > 0 {
					q.waiting[level] += random.IntN(3)
				}
			}
			for _, r := range p.next(now, slots, held) {
				if q.asked[r.level].batch > 0 {
					t.Fatalf("two requests stand at level %d", r.level)
				}
				q.asked[r.level], q.until[r.level] = r, now.Add(r.stands)
			}
			may := held
			for _, r := range q.asked {
				may += r.batch
			}
			if may > slots {
				t.Fatalf("%d tasks may be held in %d slots", may, slots)
			}
			for level, n := range q.serve(&p, now) {
				held += n
				served[level] += n
			}
			if held > 0 && random.IntN(2) == 0 {
				held -= 1 + random.IntN(held)
			}
		}
		t.Logf("%d slots: %v", slots, served[1:])
		if served[3] == 0 || served[2] == 0 || 10*served[1] < 9*served[2] || 10*served[2] < 9*served[3] {
			t.Errorf("%d slots: %v tasks by level", slots, served[1:])
		}
	}
}

// Where nothing comes little is asked for.
func TestPlanOfNothing(t *testing.T) {
	for slots, most := range map[int]int{1: 20, 16: 2} {
		var p plan
		var q queue
		now, requests := time.Now(), 0
		for range 10_000 {
			now = now.Add(time.Millisecond)
			for _, r := range p.next(now, slots, 0) {
				requests++
				q.asked[r.level], q.until[r.level] = r, now.Add(r.stands)
			}
			q.serve(&p, now)
		}
		if perSecond := requests / 10; perSecond > most {
			t.Errorf("%d slots: %d requests a second", slots, perSecond)
		}
	}
}

// settle lets a puller ask and JetStream answer until nothing changes at this moment.
func (q *queue) settle(p *plan, now time.Time, slots int, held *[stream.Levels + 1]int) {
	for range 100 {
		total := 0
		for _, n := range held {
			total += n
		}
		asked := p.next(now, slots, total)
		for _, r := range asked {
			q.asked[r.level], q.until[r.level] = r, now.Add(r.stands)
		}
		came := q.serve(p, now)
		for level, n := range came {
			held[level] += n
		}
		if len(asked) == 0 && came == [stream.Levels + 1]int{} {
			return
		}
	}
}

// A less urgent level on which tasks come never takes all slots for what may still
// come: a burst of a more urgent one gets most of those that are idle, at once.
func TestPlanIsUrgent(t *testing.T) {
	for _, slots := range []int{8, 16, 64} {
		for _, trickle := range []int{2, 3} {
			for offset := range 400 { // a flowing request may be made at any time before
				var p plan
				var q queue
				now := time.Now()
				var held [stream.Levels + 1]int
				for ms := range 500 + offset {
					now = now.Add(time.Millisecond)
					if ms%20 == 0 {
						q.waiting[trickle]++
					}
					held = [stream.Levels + 1]int{} // each is done at once
					q.settle(&p, now, slots, &held)
				}
				held = [stream.Levels + 1]int{}
				q.waiting[1] = 2 * slots
				q.settle(&p, now, slots, &held)
				if idle := slots - held[trickle]; held[1] < idle/2-2 || held[1] < 2 {
					t.Fatalf("%d slots, level %d, after %d ms: %d urgent tasks came where %d slots are idle", slots, trickle, offset, held[1], idle)
				}
			}
		}
	}
}

// Tasks that come one by one do not cost a request each.
func TestPlanOfATrickle(t *testing.T) {
	var p plan
	var q queue
	now, served := time.Now(), 0
	for ms := range 10_000 {
		now = now.Add(time.Millisecond)
		if ms%10 == 0 {
			q.waiting[2]++
		}
		var held [stream.Levels + 1]int
		q.settle(&p, now, 28, &held)
		served += held[2]
	}
	if served < 999 || p.number > 400 {
		t.Errorf("%d requests for %d tasks", p.number, served)
	}
}
