package gate_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"triptych/gateway/admission/gate"
	"triptych/gateway/queued"
	"triptych/proto/inference"
	"triptych/shared/call"
	"triptych/shared/failure"
)

func fixed(n, queue int) func(*gate.Config) {
	return func(c *gate.Config) { c.Limit.Fixed, c.MaxQueue = n, queue }
}

func enter(t *testing.T, g *gate.Gates, info call.Info) *gate.Pass {
	t.Helper()
	p, err := g.Enter(call.With(t.Context(), info), "m")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// line lets callers wait, one after the other, and tells in which order they came in.
type line struct {
	t     *testing.T
	gates *gate.Gates
	ended chan string
	here  sync.WaitGroup
}

func newLine(t *testing.T, g *gate.Gates) *line {
	return &line{t: t, gates: g, ended: make(chan string, 100)}
}

// join lets one wait, who then keeps its pass for a second.
func (l *line) join(name string, info call.Info) {
	l.here.Go(func() {
		p, err := l.gates.Enter(call.With(l.t.Context(), info), "m")
		if err != nil {
			l.ended <- name + " " + failure.KindOf(err).String()
			return
		}
		l.ended <- name
		time.Sleep(time.Second)
		p.Leave(nil)
	})
	synctest.Wait()
}

func (l *line) all() string {
	l.here.Wait()
	close(l.ended)
	var got []string
	for name := range l.ended {
		got = append(got, name)
	}
	return strings.Join(got, ", ")
}

func TestQueue(t *testing.T) {
	type one struct {
		name string
		info call.Info
	}
	ann, bob := call.Info{Tenant: "ann"}, call.Info{Tenant: "bob"}
	tests := map[string]struct {
		come []one
		want string
	}{
		"in order":               {[]one{{"1", call.Info{}}, {"2", call.Info{}}, {"3", call.Info{}}}, "1, 2, 3"},
		"one too many":           {[]one{{"1", call.Info{}}, {"2", call.Info{}}, {"3", call.Info{}}, {"4", call.Info{}}}, "4 BUSY, 1, 2, 3"},
		"urgent first":           {[]one{{"1", call.Info{}}, {"urgent", call.Info{Priority: 1}}}, "urgent, 1"},
		"no priority is 2":       {[]one{{"3", call.Info{Priority: 3}}, {"0", call.Info{}}, {"1", call.Info{Priority: 1}}}, "1, 0, 3"},
		"urgent pushes out":      {[]one{{"a", call.Info{Priority: 9}}, {"b", call.Info{Priority: 99}}, {"c", call.Info{}}, {"d", call.Info{Priority: 1}}}, "b BUSY, d, c, a"},
		"least urgent is pushed": {[]one{{"a", call.Info{}}, {"b", call.Info{Priority: 5}}, {"c", call.Info{Priority: 1}}, {"d", call.Info{}}}, "b BUSY, c, a, d"},
		"tenant above its share": {[]one{{"a1", ann}, {"a2", ann}, {"a3", ann}, {"b1", bob}}, "a3 BUSY, a1, b1, a2"},
		"weights":                {[]one{{"b1", bob}, {"b2", bob}, {"a1", ann}, {"a2", ann}}, "b2 BUSY, a1, b1, a2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _ := gates(t, fixed(1, 3), func(c *gate.Config) { c.Weights, c.MaxWait = "ann=2", time.Hour })
				first := enter(t, g, call.Info{})
				l := newLine(t, g)
				for _, o := range tt.come {
					l.join(o.name, o.info)
				}
				first.Leave(nil)
				if got := l.all(); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// measured is a gate at which requests take a second, one at a time, with somebody in.
func measured(t *testing.T, configure ...func(*gate.Config)) (*gate.Gates, *gate.Pass) {
	t.Helper()
	g, _ := gates(t, append([]func(*gate.Config){fixed(1, 30), func(c *gate.Config) { c.MaxWait = time.Hour }}, configure...)...)
	p := enter(t, g, call.Info{})
	time.Sleep(time.Second)
	p.Leave(nil)
	return g, enter(t, g, call.Info{})
}

// Who can't be answered in time is told at once; who can waits.
func TestDeadline(t *testing.T) {
	for name, tt := range map[string]struct {
		left time.Duration
		kind failure.Kind
		took time.Duration
	}{
		"passed":            {-time.Second, failure.Deadline, 0},
		"less than a turn":  {1500 * time.Millisecond, failure.Busy, 0},
		"long enough":       {3 * time.Second, 0, 500 * time.Millisecond},
		"was short in turn": {2100 * time.Millisecond, failure.Busy, 1200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, first := measured(t)
				after := tt.took
				time.AfterFunc(after, func() { first.Leave(nil) })
				ctx, cancel := context.WithTimeout(t.Context(), tt.left)
				defer cancel()
				begin := time.Now()
				p, err := g.Enter(ctx, "m")
				if took := time.Since(begin); took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
				if (err == nil) != (tt.kind == 0) || err != nil && failure.KindOf(err) != tt.kind {
					t.Errorf("got %v", err)
				}
				if p != nil {
					p.Leave(nil)
					p.Leave(nil)
				}
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// Who has gone, or has waited for as long as anyone may, leaves the queue.
func TestLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, registry := gates(t, fixed(1, 3), func(c *gate.Config) { c.MaxWait = 2 * time.Second })
		first := enter(t, g, call.Info{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := g.Enter(ctx, "m"); failure.KindOf(err) != failure.Cancelled {
			t.Error(err)
		}
		begin := time.Now()
		if _, err := g.Enter(t.Context(), "m"); failure.KindOf(err) != failure.Busy || time.Since(begin) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		short, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		if _, err := g.Enter(short, "m"); failure.KindOf(err) != failure.Deadline {
			t.Error(err)
		}
		first.Leave(nil)
		enter(t, g, call.Info{}).Leave(nil)
		const want = `
			# HELP triptych_admission_shed_total Requests that were not let to a model, by reason and level of priority.
			# TYPE triptych_admission_shed_total counter
			triptych_admission_shed_total{level="2",model="m",reason="cancelled"} 1
			triptych_admission_shed_total{level="2",model="m",reason="deadline"} 1
			triptych_admission_shed_total{level="2",model="m",reason="max_wait"} 1
		`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "triptych_admission_shed_total"); err != nil {
			t.Error(err)
		}
	})
}

// A refused caller is told to come back when those before it have had their turn, and
// not all are told the same.
func TestHints(t *testing.T) {
	for name, tt := range map[string]struct {
		waiting     int
		least, most time.Duration
	}{
		"few":  {1, time.Second, 3400 * time.Millisecond},
		"many": {12, 8 * time.Second, 22 * time.Second},
		"most": {29, 19 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, first := measured(t, func(c *gate.Config) { c.MaxQueue = tt.waiting })
				l := newLine(t, g)
				for i := range tt.waiting {
					l.join(fmt.Sprint(i), call.Info{})
				}
				seen := map[time.Duration]bool{}
				for range 50 {
					err := g.Check(t.Context(), "m")
					after := failure.RetryAfter(err)
					if after < tt.least || after > tt.most || failure.KindOf(err) != failure.Busy {
						t.Fatalf("%v, come back in %s", err, after)
					}
					seen[after] = true
				}
				if len(seen) < 10 {
					t.Errorf("only %d different hints", len(seen))
				}
				first.Leave(nil)
				l.all()
			})
		})
	}
}

// Names that are no models' leave nothing behind.
func TestUnknownModels(t *testing.T) {
	g, registry := gates(t)
	for i := range 1000 {
		p, err := g.Enter(t.Context(), fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		p.Leave(failure.New(failure.NotFound, "unknown model"))
	}
	if got := g.Len(); got != 0 {
		t.Errorf("%d gates are left", got)
	}
	if n, err := testutil.GatherAndCount(registry, "triptych_admission_limit", "triptych_admission_wait_seconds"); n != 0 || err != nil {
		t.Errorf("%d series, %v", n, err)
	}
	if err := g.Check(t.Context(), "nothing is known of it"); err != nil {
		t.Error(err)
	}
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, registry := gates(t, fixed(1, 1), func(c *gate.Config) { c.Weights, c.MaxWait = "ann=2", time.Hour })
		for range 2 {
			p := enter(t, g, call.Info{Tenant: "ann"})
			time.Sleep(500 * time.Millisecond)
			p.Leave(nil)
		}
		first := enter(t, g, call.Info{})
		l := newLine(t, g)
		l.join("waits", call.Info{Priority: 3, Tenant: "who knows"})
		_ = g.Check(call.With(t.Context(), call.Info{Priority: 4, Tenant: "ann"}), "m")
		const want = `
			# HELP triptych_admission_drain_per_second Requests a second that are let to a model while others wait, as hints when to come back are computed from.
			# TYPE triptych_admission_drain_per_second gauge
			triptych_admission_drain_per_second{model="m"} 2
			# HELP triptych_admission_in_flight Requests of a model that are in work.
			# TYPE triptych_admission_in_flight gauge
			triptych_admission_in_flight{model="m"} 1
			# HELP triptych_admission_limit Requests of a model that may be in work, without the swing of measuring.
			# TYPE triptych_admission_limit gauge
			triptych_admission_limit{model="m"} 1
			# HELP triptych_admission_service_seconds Mean time that a model took, lately, from admission to answer.
			# TYPE triptych_admission_service_seconds gauge
			triptych_admission_service_seconds{model="m"} 0.5
			# HELP triptych_admission_shed_total Requests that were not let to a model, by reason and level of priority.
			# TYPE triptych_admission_shed_total counter
			triptych_admission_shed_total{level="4",model="m",reason="full"} 1
			# HELP triptych_admission_tenant_requests_total Requests by tenant (those with a weight; all others together) and what became of them.
			# TYPE triptych_admission_tenant_requests_total counter
			triptych_admission_tenant_requests_total{outcome="admitted",tenant="ann"} 2
			triptych_admission_tenant_requests_total{outcome="admitted",tenant="other"} 1
			triptych_admission_tenant_requests_total{outcome="refused",tenant="ann"} 1
			triptych_admission_tenant_requests_total{outcome="refused",tenant="other"} 0
		`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "triptych_admission_limit", "triptych_admission_in_flight", "triptych_admission_service_seconds",
			"triptych_admission_drain_per_second", "triptych_admission_shed_total", "triptych_admission_tenant_requests_total"); err != nil {
			t.Error(err)
		}
		first.Leave(nil)
		l.all()
		if n, _ := testutil.GatherAndCount(registry, "triptych_admission_waiting"); n != 8 {
			t.Errorf("%d series of those who wait", n)
		}
	})
}

// instant answers, or fails, at once.
type instant struct {
	inference.UnimplementedGRPCInferenceServiceServer
}

func (instant) ModelInfer(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	if req.GetModelName() != "m" {
		return nil, failure.New(failure.NotFound, "unknown model")
	}
	return &inference.ModelInferResponse{}, nil
}

// The span of a request has its wait.
func TestServer(t *testing.T) {
	g, _ := gates(t)
	recorder := tracetest.NewSpanRecorder()
	ctx, span := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("test").Start(t.Context(), "request")
	server := g.Server(instant{})
	if _, err := server.ModelInfer(ctx, &inference.ModelInferRequest{ModelName: "m"}); err != nil {
		t.Error(err)
	}
	if _, err := server.ModelInfer(ctx, &inference.ModelInferRequest{ModelName: "other"}); failure.KindOf(err) != failure.NotFound {
		t.Error(err)
	}
	span.End()
	attributes := recorder.Ended()[0].Attributes()
	if len(attributes) != 1 || attributes[0].Key != gate.WaitAttribute || attributes[0].Value.AsInt64() != 0 {
		t.Errorf("the span has %v", attributes)
	}
	if got := g.Len(); got != 1 {
		t.Errorf("%d gates", got)
	}
}

// crowded is a model of which each request waits inside for half of its time.
type crowded struct {
	inference.UnimplementedGRPCInferenceServiceServer
}

func (crowded) ModelInfer(ctx context.Context, _ *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	time.Sleep(10 * time.Millisecond)
	queued.Add(ctx, 5*time.Millisecond)
	return &inference.ModelInferResponse{}, nil
}

// What the stages say of their queues brings the limit down, though more in work seems
// to be more throughput.
func TestStagesTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, registry := gates(t, func(c *gate.Config) { c.Limit.Initial, c.MaxQueue = 100, 1000 })
		server := g.Server(crowded{})
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		var callers sync.WaitGroup
		for range 200 {
			callers.Go(func() {
				for ctx.Err() == nil {
					if _, err := server.ModelInfer(ctx, &inference.ModelInferRequest{ModelName: "m"}); err != nil {
						time.Sleep(10 * time.Millisecond)
					}
				}
			})
		}
		callers.Wait()
		want := fmt.Sprintf(`
			# HELP triptych_admission_crowd Part of its time for which a request in work waits in the queues of the stages, by what they say.
			# TYPE triptych_admission_crowd gauge
			triptych_admission_crowd{model="m"} 0.5
			# HELP triptych_admission_limit Requests of a model that may be in work, without the swing of measuring.
			# TYPE triptych_admission_limit gauge
			triptych_admission_limit{model="m"} %d
		`, gate.DefaultConfig().Limit.Min)
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "triptych_admission_limit", "triptych_admission_crowd"); err != nil {
			t.Error(err)
		}
	})
}

func TestConfig(t *testing.T) {
	cfg := gate.DefaultConfig()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	cfg.RegisterFlags(fs)
	want := gate.Config{Limit: cfg.Limit, MaxQueue: 1, MaxWait: 2, TargetWait: 3, Weights: "a=1, b=0.5"}
	args := []string{"--admission-max-queue=1", "--admission-max-wait=2ns", "--admission-target-wait=3ns", "--tenant-weights=a=1, b=0.5"}
	if err := fs.Parse(args); err != nil || cfg != want {
		t.Errorf("%+v, %v", cfg, err)
	}
	for name, change := range map[string]func(*gate.Config){
		"--admission-limit ":       func(c *gate.Config) { c.Limit.Fixed = -1 },
		"--admission-max-queue ":   func(c *gate.Config) { c.MaxQueue = -1 },
		"--admission-max-wait ":    func(c *gate.Config) { c.MaxWait = 0 },
		"--admission-target-wait ": func(c *gate.Config) { c.TargetWait = -1 },
	} {
		cfg := gate.DefaultConfig()
		change(&cfg)
		if _, err := gate.New(cfg, prometheus.NewRegistry()); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, weights := range []string{"a", "a=", "a=x", "a=0", "a=-1", "a=NaN", "a=+Inf", "=1", "a b=1", "a=1,a=2", "a=1,,", "other=2"} {
		cfg := gate.DefaultConfig()
		cfg.Weights = weights
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), "--tenant-weights ") {
			t.Errorf("%q: %v", weights, err)
		}
	}
	_, registry := gates(t)
	if _, err := gate.New(gate.DefaultConfig(), registry); err == nil {
		t.Error("the same registry twice is no error")
	}
}
