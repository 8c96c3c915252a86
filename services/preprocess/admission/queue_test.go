package admission_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"triptych/services/preprocess/admission"
	"triptych/shared/failure"
)

const (
	mega  = 1 << 20
	small = mega
	large = 32 * mega
)

func config() admission.Config {
	return admission.Config{Slots: 3, Budget: 128 * mega, Large: 8 * mega, Requests: 4, Bytes: 10 * mega}
}

func newQueue(t *testing.T, cfg admission.Config) (*admission.Queue, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	q, err := admission.New(cfg, registry)
	if err != nil {
		t.Fatal(err)
	}
	return q, registry
}

// desk works on images at a queue and notes in which order they were let in.
type desk struct {
	t     *testing.T
	queue *admission.Queue
	wg    sync.WaitGroup

	mu    sync.Mutex
	order []string
	waits map[string]time.Duration
	bytes int64
	most  int64
	slots int
	wide  int
}

func newDesk(t *testing.T, cfg admission.Config) *desk {
	t.Helper()
	q, _ := newQueue(t, cfg)
	return &desk{t: t, queue: q, waits: map[string]time.Duration{}}
}

// work puts an image in line, which takes some time once it is let in. It returns
// when the image waits or is let in.
func (d *desk) work(name string, cost int64, takes time.Duration) {
	d.wg.Go(func() { d.one(name, cost, takes) })
	synctest.Wait()
}

func (d *desk) one(name string, cost int64, takes time.Duration) {
	grant, err := d.queue.Admit(d.t.Context(), cost)
	if err != nil {
		d.t.Error(err)
		return
	}
	d.mu.Lock()
	d.order = append(d.order, name)
	d.waits[name] = grant.Waited
	d.bytes += cost
	d.slots++
	d.most, d.wide = max(d.most, d.bytes), max(d.wide, d.slots)
	d.mu.Unlock()
	time.Sleep(takes)
	d.mu.Lock()
	d.bytes -= cost
	d.slots--
	d.mu.Unlock()
	grant.Release()
}

func TestOneLaneIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Slots = 1
		d := newDesk(t, cfg)
		want := []string{"a", "b", "c", "d", "e"}
		for _, name := range want {
			d.work(name, small, time.Second)
		}
		d.wg.Wait()
		if diff := cmp.Diff(want, d.order); diff != "" {
			t.Error(diff)
		}
		if d.waits["e"] != 4*time.Second {
			t.Errorf("the last waited %v, want 4s", d.waits["e"])
		}
	})
}

// One slot is kept for small images, however many large ones wait.
func TestSmallImagesDoNotWaitBehindLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, config())
		for range 20 {
			d.work("large", large, time.Second)
		}
		d.work("small", small, time.Second)
		d.wg.Wait()
		if d.waits["small"] != 0 {
			t.Errorf("the small image waited %v", d.waits["small"])
		}
	})
}

// With one slot there is nothing to keep; a small image is next nevertheless.
func TestSmallImagesGoNextThroughOneSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Slots = 1
		d := newDesk(t, cfg)
		for range 20 {
			d.work("large", large, time.Second)
		}
		d.work("small", small, time.Second)
		d.wg.Wait()
		if diff := cmp.Diff([]string{"large", "small", "large"}, d.order[:3]); diff != "" {
			t.Error(diff)
		}
	})
}

// A large image is let in when as much of small ones has been as it costs itself.
func TestLargeImagesAreNotStarvedBySmallOnes(t *testing.T) {
	for name, slots := range map[string]int{"one slot": 1, "three slots": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := config()
				cfg.Slots = slots
				d := newDesk(t, cfg)
				for range 300 {
					d.work("small", small, time.Second)
				}
				d.work("first", large, time.Second)
				d.work("second", large, time.Second)
				d.work("third", large, time.Second)
				d.wg.Wait()
				bound := time.Duration(2*large/small/slots+10) * time.Second
				if d.waits["first"] > 2*time.Second || d.waits["third"] > bound {
					t.Errorf("the large images waited %v and %v, want 2s and %v at most", d.waits["first"], d.waits["third"], bound)
				}
			})
		})
	}
}

// Both lanes, always full, get half of the cost.
func TestLanesShareEqually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Slots = 1
		d := newDesk(t, cfg)
		for range 30 {
			d.work("large", large, large/small*time.Millisecond)
		}
		for range 2000 {
			d.work("small", small, time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		d.mu.Lock()
		count := map[string]int{}
		for _, name := range d.order {
			count[name]++
		}
		d.mu.Unlock()
		if ratio := float64(count["small"]*small) / float64(count["large"]*large); ratio < 0.8 || ratio > 1.25 {
			t.Errorf("%v: the small ones got %.2f times the cost of the large ones", count, ratio)
		}
		d.wg.Wait()
	})
}

// Whatever the mix, what is worked on stays within slots and budget, and all get
// their turn.
func TestMemoryIsBoundedWhateverTheMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Slots = 8
		d := newDesk(t, cfg)
		random := rand.New(rand.NewPCG(1, 2))
		costs := []int64{0, 1000, small, 7 * mega, large, 50 * mega, 112 * mega}
		for range 500 {
			cost, takes := costs[random.IntN(len(costs))], time.Duration(random.IntN(100))*time.Millisecond
			d.work("image", cost, takes)
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		}
		d.wg.Wait()
		if d.most > cfg.Budget || d.wide > cfg.Slots {
			t.Errorf("%d MiB in %d slots, allowed are %d in %d", d.most/mega, d.wide, cfg.Budget/mega, cfg.Slots)
		}
		if d.most < cfg.Budget*3/4 {
			t.Errorf("at most %d MiB of %d were used", d.most/mega, cfg.Budget/mega)
		}
	})
}

// What is larger than the budget has its turn too, with no other large image and
// few small ones beside it.
func TestLargerThanTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Slots = 8
		d := newDesk(t, cfg)
		for i := range 200 {
			switch i % 20 {
			case 3:
				d.work("huge", 1000*mega, time.Second)
			case 5, 6, 7:
				d.work("large", large, time.Second)
			default:
				d.work("small", small, time.Second)
			}
		}
		d.wg.Wait()
		if reserve := cfg.Budget / 8; d.most > 1000*mega+reserve {
			t.Errorf("%d MiB at once", d.most/mega)
		}
	})
}

func TestWhoHasGoneIsNotLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Slots = 1
		d := newDesk(t, cfg)
		d.work("first", small, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 2)
		for _, cost := range []int64{small, large} {
			go func() {
				grant, err := d.queue.Admit(ctx, cost)
				if grant.Waited != time.Second {
					t.Errorf("waited %v, want 1s", grant.Waited)
				}
				results <- err
			}()
		}
		synctest.Wait()
		d.work("last", small, time.Second)
		time.Sleep(time.Second)
		begin := time.Now()
		cancel()
		for range 2 {
			if err := <-results; failure.KindOf(err) != failure.Cancelled {
				t.Errorf("got %v, want Cancelled", err)
			}
		}
		if time.Since(begin) != 0 {
			t.Errorf("they left after %v", time.Since(begin))
		}
		if _, err := d.queue.Admit(ctx, small); failure.KindOf(err) != failure.Cancelled {
			t.Errorf("who had gone before got %v", err)
		}
		d.wg.Wait()
		if d.waits["last"] != time.Minute {
			t.Errorf("the last waited %v, want a minute: the others took no turn", d.waits["last"])
		}
	})
}

// A head of the line that waits for room holds up others no longer once it has gone.
func TestWhoLeavesMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, config())
		d.work("first", 100*mega, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := d.queue.Admit(ctx, 100*mega)
			gone <- err
		}()
		synctest.Wait()
		d.work("next", 10*mega, time.Second)
		time.Sleep(time.Second)
		cancel()
		<-gone
		d.wg.Wait()
		if d.waits["next"] != time.Second {
			t.Errorf("it waited %v, want 1s", d.waits["next"])
		}
	})
}

// A turn and the end of the caller at the same moment lose no slot.
func TestTurnOfWhoHasJustGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Slots = 1
		d := newDesk(t, cfg)
		for range 100 {
			d.work("holder", small, time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			for range 3 {
				d.wg.Go(func() {
					if grant, err := d.queue.Admit(ctx, small); err == nil {
						grant.Release()
					}
				})
			}
			d.wg.Wait()
			cancel()
		}
		if grant, err := d.queue.Admit(t.Context(), small); err != nil || grant.Waited != 0 {
			t.Errorf("waited %v and got %v", grant.Waited, err)
		}
	})
}
