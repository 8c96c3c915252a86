package admission_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/services/preprocess/admission"
	"triptych/shared/failure"
)

func TestRequestsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		enter []int64
		want  string
	}{
		"by number":           {[]int64{1, 1, 1, 1, 1}, "the queue for image decoding is full: 4 requests are waiting"},
		"by bytes":            {[]int64{6 * mega, 4*mega + 1}, "the queue for image decoding is full: 6291456 bytes of images are held"},
		"up to the bounds":    {[]int64{mega, mega, mega, 7 * mega}, ""},
		"one alone has leave": {[]int64{100 * mega}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			q, _ := newQueue(t, config())
			for i, bytes := range tc.enter {
				err := q.Enter(bytes)
				if last := i == len(tc.enter)-1; !last || tc.want == "" {
					if err != nil {
						t.Errorf("request %d: %v", i, err)
					}
					continue
				}
				if failure.KindOf(err) != failure.Busy || failure.Message(err) != tc.want {
					t.Errorf("got %v, want busy with %q", err, tc.want)
				}
			}
		})
	}
}

func TestRoomComesBack(t *testing.T) {
	q, _ := newQueue(t, config())
	for range 100 {
		if err := q.Enter(9 * mega); err != nil {
			t.Fatal(err)
		}
		q.Started()
		if err := q.Enter(2 * mega); failure.KindOf(err) != failure.Busy {
			t.Fatalf("the files of a request at work are forgotten: %v", err)
		}
		q.Leave(9 * mega)
	}
}

// The hint grows with what waits and with how long that takes.
func TestHintForWhoIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, admission.Config{Slots: 2, Budget: 100 * mega, Large: 8 * mega, Requests: 1, Bytes: mega})
		hint := func() time.Duration {
			err := d.queue.Enter(1)
			if failure.KindOf(err) != failure.Busy {
				t.Fatalf("got %v, want busy", err)
			}
			return failure.RetryAfter(err)
		}
		if err := d.queue.Enter(1); err != nil {
			t.Fatal(err)
		}
		if h := hint(); h != 50*time.Millisecond {
			t.Errorf("with nothing known: %v", h)
		}
		d.work("first", small, time.Second)
		d.wg.Wait()
		for range 18 { // two at a time, so 16 wait
			d.work("small", small, time.Second)
		}
		if h := hint(); h != 4*time.Second {
			t.Errorf("half of 16 images of a second each by two slots: %v, want 4s", h)
		}
		for range 400 {
			d.work("small", small, time.Second)
		}
		if h := hint(); h != 30*time.Second {
			t.Errorf("with very many: %v, want 30s", h)
		}
		d.wg.Wait()
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, registry := newQueue(t, config())
		if err := q.Enter(5); err != nil {
			t.Fatal(err)
		}
		grants := make([]admission.Grant, 4)
		for i, cost := range []int64{small, large, large} {
			var err error
			if grants[i], err = q.Admit(t.Context(), cost); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			var err error
			if grants[3], err = q.Admit(t.Context(), large); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				key := strings.TrimPrefix(family.GetName(), "triptych_image_")
				for _, label := range m.GetLabel() {
					key += " " + label.GetValue()
				}
				got[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		want := map[string]float64{
			"budget_bytes": 128 * mega, "held_bytes": 5,
			"queue_depth small": 0, "queue_depth large": 1,
			"working small": 1, "working large": 2,
			"working_bytes small": small, "working_bytes large": 2 * large,
			"queue_seconds small": 1, "queue_seconds large": 2,
			"queue_left_total small": 0, "queue_left_total large": 0,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, g := range grants[:3] {
			g.Release()
		}
		<-done
		grants[3].Release()
		if _, err := admission.New(config(), registry); err == nil {
			t.Error("a second queue registered the same metrics")
		}
	})
}

// Jobs are not refused, and take nobody's place.
func TestRequestsOfJobs(t *testing.T) {
	q, _ := newQueue(t, config())
	for range 4 {
		if err := q.Enter(mega); err != nil {
			t.Fatal(err)
		}
	}
	q.EnterBulk(100 * mega)
	for range 4 {
		q.Started()
		q.Leave(mega)
	}
	if err := q.Enter(9 * mega); err != nil {
		t.Errorf("a request beside those of jobs: %v", err)
	}
	if err := q.Enter(2 * mega); failure.KindOf(err) != failure.Busy {
		t.Errorf("got %v", err)
	}
	q.LeaveBulk(100 * mega)
}
