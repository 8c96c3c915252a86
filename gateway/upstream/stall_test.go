package upstream_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/gateway/upstream"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

// moody is a server whose model "a" does what it is told: it answers after a while,
// answers nothing, as a process that was stopped, or fails.
type moody struct {
	*servertest.Server
	silent  atomic.Bool
	takes   atomic.Int64 // nanoseconds
	fails   atomic.Int64 // each n-th call; 0 is none
	calls   atomic.Int64
	answers atomic.Int64
}

// deaf answers nothing at all while it is silent.
type deaf struct {
	inference.GRPCInferenceServiceServer
	m *moody
}

func (d deaf) wait(ctx context.Context) error {
	for d.m.silent.Load() {
		select {
		case <-ctx.Done():
			return failure.OfContext(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// ServerLive implements inference.GRPCInferenceServiceServer.
func (d deaf) ServerLive(ctx context.Context, req *inference.ServerLiveRequest) (*inference.ServerLiveResponse, error) {
	if err := d.wait(ctx); err != nil {
		return nil, err
	}
	return d.GRPCInferenceServiceServer.ServerLive(ctx, req)
}

// RepositoryIndex implements inference.GRPCInferenceServiceServer.
func (d deaf) RepositoryIndex(ctx context.Context, req *inference.RepositoryIndexRequest) (*inference.RepositoryIndexResponse, error) {
	if err := d.wait(ctx); err != nil {
		return nil, err
	}
	return d.GRPCInferenceServiceServer.RepositoryIndex(ctx, req)
}

// ModelInfer implements inference.GRPCInferenceServiceServer.
func (d deaf) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	n := d.m.calls.Add(1)
	if err := d.wait(ctx); err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(d.m.takes.Load()))
	if each := d.m.fails.Load(); each > 0 && n%each == 0 {
		return nil, failure.New(failure.Internal, "the model failed")
	}
	d.m.answers.Add(1)
	return d.GRPCInferenceServiceServer.ModelInfer(ctx, req)
}

func mood(t *testing.T, config string) *moody {
	t.Helper()
	m := &moody{}
	files := map[string]string{"a/config.pbtxt": servertest.MapConfig("add") + config}
	m.Server = servertest.Start(t, servertest.Options{
		Folders: []string{servertest.Repository(t, files)},
		Wrap:    func(s *modelserver.Service) inference.GRPCInferenceServiceServer { return deaf{s, m} },
	}, adding("add", 1))
	return m
}

// crowd calls a fleet from several callers at once until it is stopped.
type crowd struct {
	ok, failed atomic.Int64
	slowest    atomic.Int64 // nanoseconds, since it was last set to 0
	stop       chan struct{}
	all        sync.WaitGroup
}

func gather(t *testing.T, f *upstream.Fleet, callers int) *crowd {
	t.Helper()
	c := &crowd{stop: make(chan struct{})}
	for range callers {
		c.all.Go(func() {
			for {
				select {
				case <-c.stop:
					return
				default:
					c.call(f)
				}
			}
		})
	}
	t.Cleanup(c.end)
	return c
}

func (c *crowd) end() {
	select {
	case <-c.stop:
	default:
		close(c.stop)
	}
	c.all.Wait()
}

func (c *crowd) call(f *upstream.Fleet) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	begun := time.Now()
	_, _, err := f.Infer(ctx, servertest.Request("a", 1, 2))
	took := int64(time.Since(begun))
	for slowest := c.slowest.Load(); took > slowest && !c.slowest.CompareAndSwap(slowest, took); slowest = c.slowest.Load() {
	}
	if err != nil {
		c.failed.Add(1)
		return
	}
	c.ok.Add(1)
	time.Sleep(time.Millisecond)
}

// more waits for so many more answers.
func (c *crowd) more(t *testing.T, n int64) {
	t.Helper()
	from := c.ok.Load()
	eventually(t, "answers", func() bool { return c.ok.Load() > from+n })
}

// gauge is a metric of a fleet, with those labels.
func gauge(t *testing.T, tel *telemetry.Telemetry, name string, labels prometheus.Labels) float64 {
	t.Helper()
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.
	for _, family := range families {
		for _, m := range family.GetMetric() {
			match := family.GetName() == name
			for _, l := range m.GetLabel() {
				if want, given := labels[l.GetName()]; given && want != l.GetValue() {
					match = false
				}
			}
			if match {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// watched is a fleet whose metrics can be read.
func watched(t *testing.T, cfg upstream.Config) (*upstream.Fleet, func(name string, labels prometheus.Labels) float64) {
	t.Helper()
	tel := telemetry.Discard()
	return startTold(t, cfg, tel), func(name string, labels prometheus.Labels) float64 { t.Helper(); return gauge(t, tel, name, labels) }
}

// TestSilentReplica stops one of two replicas from answering, without closing its
// connection: no call fails, calls are fast again soon, and when it answers again it
// gets its share.
func TestSilentReplica(t *testing.T) {
	t.Parallel()
	one, two := mood(t, ""), mood(t, "")
	f, metric := watched(t, settings(interval, one.Address, two.Address))
	c := gather(t, f, 8)
	c.more(t, 200)
	one.silent.Store(true)
	eventually(t, "it is left", func() bool {
		return metric("triptych_upstream_ejected", prometheus.Labels{"replica": one.Address}) == 1
	})
	calls := one.calls.Load()
	c.more(t, 200)
	c.slowest.Store(0)
	c.more(t, 500)
	if slowest := time.Duration(c.slowest.Load()); slowest > time.Second {
		t.Errorf("the slowest call took %s", slowest)
	}
	if n := one.calls.Load() - calls; n > 20 {
		t.Errorf("it got %d calls while it was silent", n)
	}
	if hedges := metric("triptych_upstream_hedges_won_total", nil); hedges == 0 {
		t.Error("no call was saved")
	}
	one.silent.Store(false)
	answers := one.answers.Load()
	eventually(t, "it gets calls again", func() bool { return one.answers.Load() > answers+100 })
	if metric("triptych_upstream_ejected", nil) != 0 || metric("triptych_upstream_returns_total", nil) == 0 {
		t.Error("it is not back")
	}
	c.end()
	if n := c.failed.Load(); n > 0 {
		t.Errorf("%d calls failed", n)
	}
}

// TestSilentOnce has but one call under way, and no other traffic.
func TestSilentOnce(t *testing.T) {
	t.Parallel()
	one, two := mood(t, ""), mood(t, "")
	f := start(t, one.Address, two.Address)
	for range 100 {
		infer(t, f, "a", 1, 2)
	}
	one.silent.Store(true)
	eventually(t, "a call goes to the silent one, and is answered by the other", func() bool {
		calls := one.calls.Load()
		infer(t, f, "a", 1, 2)
		return one.calls.Load() > calls
	})
}

// TestAllSilent leaves nobody, and the callers' deadlines end the calls.
func TestAllSilent(t *testing.T) {
	t.Parallel()
	one, two := mood(t, ""), mood(t, "")
	f, metric := watched(t, settings(time.Hour, one.Address, two.Address))
	for range 50 {
		infer(t, f, "a", 1, 2)
	}
	one.silent.Store(true)
	two.silent.Store(true)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, _, err := f.Infer(within(t, time.Second), servertest.Request("a", 1, 2)); failure.KindOf(err) != failure.Deadline {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	if n := metric("triptych_upstream_ejected", nil); n != 0 {
		t.Errorf("%v are left", n)
	}
	one.silent.Store(false)
	two.silent.Store(false)
	for range 20 {
		infer(t, f, "a", 1, 2)
	}
}

// TestSlowReplica takes three times as long as the other, and is not left for that.
func TestSlowReplica(t *testing.T) {
	t.Parallel()
	one, two := mood(t, ""), mood(t, "")
	one.takes.Store(int64(90 * time.Millisecond))
	two.takes.Store(int64(30 * time.Millisecond))
	f, metric := watched(t, settings(interval, one.Address, two.Address))
	c := gather(t, f, 8)
	c.more(t, 300)
	c.end()
	if n := metric("triptych_upstream_ejections_total", nil); n != 0 || c.failed.Load() > 0 {
		t.Errorf("%v were left, %d calls failed", n, c.failed.Load())
	}
	if slow, fast := one.calls.Load(), two.calls.Load(); slow == 0 || slow > fast {
		t.Errorf("the slow one got %d calls, the other %d", slow, fast)
	}
}

// TestStateful sends no call of a model with sequences, or of one that answers as
// often as it wants, to a second replica.
func TestStateful(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"sequences": "sequence_batching { }", "decoupled": "model_transaction_policy { decoupled: true }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := mood(t, config), mood(t, config)
			f := start(t, one.Address, two.Address)
			one.silent.Store(true)
			two.silent.Store(true)
			if _, _, err := f.Infer(within(t, 2*time.Second), servertest.Request("a", 1, 2)); failure.KindOf(err) != failure.Deadline {
				t.Errorf("got %v", err)
			}
			if n := one.calls.Load() + two.calls.Load(); n != 1 {
				t.Errorf("it was called %d times", n)
			}
		})
	}
}

// TestEachSecondFails leaves a replica of which every second call fails, while the
// other is well.
func TestEachSecondFails(t *testing.T) {
	t.Parallel()
	one, two := mood(t, ""), mood(t, "")
	one.fails.Store(2)
	cfg := settings(interval, one.Address, two.Address)
	cfg.EjectTime = 200 * time.Millisecond
	f, metric := watched(t, cfg)
	c := gather(t, f, 4)
	eventually(t, "it is left", func() bool {
		return metric("triptych_upstream_ejections_total", prometheus.Labels{"replica": one.Address, "reason": "often"}) > 0
	})
	one.fails.Store(0)
	answers := one.answers.Load()
	eventually(t, "it is back", func() bool { return one.answers.Load() > answers+100 })
	if n := metric("triptych_upstream_ejections_total", prometheus.Labels{"replica": two.Address}); n != 0 {
		t.Errorf("the other was left %v times", n)
	}
	c.end()
}

// TestAllFail never leaves more than the allowed part of the replicas, and not one
// that fails as often as all others.
func TestAllFail(t *testing.T) {
	t.Parallel()
	all := []*moody{mood(t, ""), mood(t, ""), mood(t, "")}
	var addresses []string
	for _, m := range all {
		m.fails.Store(1)
		addresses = append(addresses, m.Address)
	}
	f, metric := watched(t, settings(interval, addresses...))
	c := gather(t, f, 4)
	for range 20 {
		failed := c.failed.Load()
		eventually(t, "failures", func() bool { return c.failed.Load() > failed+50 })
		if n := metric("triptych_upstream_ejected", nil); n > 1 {
			t.Errorf("%v of 3 are left", n)
		}
	}
	for _, m := range all {
		m.fails.Store(0)
	}
	for _, m := range all {
		answers := m.answers.Load()
		eventually(t, "all are back", func() bool { return m.answers.Load() > answers+20 })
	}
	c.end()
}

// TestHedge makes a second call when one takes longer than others do.
func TestHedge(t *testing.T) {
	t.Parallel()
	one, two := mood(t, ""), mood(t, "")
	cfg := settings(interval, one.Address, two.Address)
	cfg.HedgePercentile, cfg.StallAfter = 90, 0
	f, metric := watched(t, cfg)
	for range 200 {
		infer(t, f, "a", 1, 2)
	}
	one.takes.Store(int64(time.Second))
	eventually(t, "a slow call is answered by the other", func() bool {
		infer(t, f, "a", 1, 2)
		return metric("triptych_upstream_hedges_won_total", nil) > 0
	})
}

// TestNoBudget makes no second call when none is granted.
func TestNoBudget(t *testing.T) {
	t.Parallel()
	one, two := mood(t, ""), mood(t, "")
	cfg := settings(time.Hour, one.Address, two.Address)
	cfg.Retry.Percent, cfg.Retry.PerSecond = 0, 0
	f, metric := watched(t, cfg)
	for range 50 {
		infer(t, f, "a", 1, 2)
	}
	one.silent.Store(true)
	eventually(t, "a call waits for the silent one", func() bool {
		calls := one.calls.Load()
		_, _, err := f.Infer(within(t, 2*time.Second), servertest.Request("a", 1, 2))
		return one.calls.Load() > calls && failure.KindOf(err) == failure.Deadline
	})
	if denied, made := metric("triptych_upstream_retries_denied_total", nil), metric("triptych_upstream_hedges_total", nil); denied == 0 || made != 0 {
		t.Errorf("%v were denied, %v made", denied, made)
	}
}

// TestRoundsGoOn while a replica hangs: what another has to say is known as soon as
// ever, and what the one has said stays known for a while.
func TestRoundsGoOn(t *testing.T) {
	t.Parallel()
	one, two := mood(t, ""), mood(t, "")
	f := start(t, one.Address, two.Address)
	one.silent.Store(true)
	eventually(t, "it counts as away", func() bool { return f.Ready() != nil })
	begun := time.Now()
	for range 10 {
		nextRound(t, f)
	}
	// Each used to take the two seconds that the one has for its answer.
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("ten rounds took %s", took)
	}
	one.silent.Store(false)
	eventually(t, "it is back", func() bool { return f.Ready() == nil })
}
