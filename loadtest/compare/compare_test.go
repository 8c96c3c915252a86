package compare_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"triptych/loadtest/compare"
	"triptych/loadtest/measure"
	"triptych/loadtest/stage"
	"triptych/loadtest/target"
	"triptych/loadtest/target/targettest"
	"triptych/loadtest/workload"
	"triptych/shared/failure"
)

func TestEstimate(t *testing.T) {
	// Logarithms of the ratios: ln 2 and ln 8, so ln 4 with a deviation of ln 2 * sqrt 2
	// and an interval of t(1) * ln 2 on each side.
	r, ok := compare.Estimate([]float64{1, 1}, []float64{2, 8})
	half := math.Exp(12.7062 * math.Ln2)
	if !ok || r.A != 1 || r.B != 5 || math.Abs(r.Ratio-4) > 1e-9 || math.Abs(r.Low/(4/half)-1) > 1e-9 || math.Abs(r.High/(4*half)-1) > 1e-9 {
		t.Errorf("%+v", r)
	}
	if r.Seen() || r.Verdict(false) != "no difference seen" {
		t.Errorf("%+v is a difference: %s", r, r.Verdict(false))
	}
	if r, ok := compare.Estimate([]float64{2}, []float64{3}); !ok || r.Ratio != 1.5 || r.High != 0 || r.Seen() || r.Verdict(true) != "one round shows no interval" {
		t.Errorf("%+v", r)
	}
	for name, v := range map[string][]float64{"nothing": {}, "zero": {0}, "not a number": {math.NaN()}} {
		if _, ok := compare.Estimate(v, v); ok {
			t.Errorf("of %s there is a ratio", name)
		}
	}
}

func TestVerdict(t *testing.T) {
	for want, tt := range map[string]struct {
		b    float64
		less bool
	}{
		"B is better by 2x": {2, false}, "A is better by 2x": {2, true},
	} {
		r, _ := compare.Estimate([]float64{1, 1, 1}, []float64{tt.b, tt.b, tt.b})
		if got := r.Verdict(tt.less); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r, _ := compare.Estimate([]float64{2, 2, 2}, []float64{1, 1, 1})
	if got := r.Verdict(true); got != "B is better by 2x" {
		t.Errorf("half the latency: %q", got)
	}
}

// An interval of 95 % holds the truth in about 95 of 100 comparisons, also with few
// rounds and with many.
func TestIntervalsHoldTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, rounds := range []int{2, 5, 10, 60} {
		const tries = 2000
		held := 0
		for range tries {
			a, b := make([]float64, rounds), make([]float64, rounds)
			for i := range rounds {
				machine := math.Exp(0.3 * random.NormFloat64()) // the same for both sides of a round
				a[i] = machine * math.Exp(0.05*random.NormFloat64())
				b[i] = 1.25 * machine * math.Exp(0.05*random.NormFloat64())
			}
			if r, _ := compare.Estimate(a, b); r.Low <= 1.25 && 1.25 <= r.High {
				held++
			}
		}
		if part := float64(held) / tries; part < 0.93 || part > 0.97 {
			t.Errorf("with %d rounds %v of the intervals hold the truth", rounds, part)
		}
	}
}

// quiet shows nothing.
type quiet struct{}

func (quiet) Watch(string, *measure.Recorder) (stop func()) { return func() {} }

// takes is a server that always takes as long.
type takes time.Duration

func (d takes) Do(ctx context.Context, _ int) (measure.Answer, error) {
	timer := time.NewTimer(time.Duration(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return measure.Answer{}, nil
	case <-ctx.Done():
		return measure.Answer{}, ctx.Err()
	}
}

func plan(a, b time.Duration) compare.Plan {
	return compare.Plan{
		Sides:  [2]compare.Side{{Workload: workload.Of("a", takes(a), 1)}, {Workload: workload.Of("b", takes(b), 1)}},
		Rounds: 8, Stage: stage.Stage{Concurrency: 2, Duration: time.Second, Timeout: time.Minute}, Seed: 1, Progress: quiet{}, Log: &bytes.Buffer{},
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := [2]int{}
		turns := 0
		rounds, err := plan(20*time.Millisecond, 10*time.Millisecond).Run(t.Context(), func(int, int, stage.Result) { turns++ })
		if err != nil || len(rounds) != 8 || turns != 16 {
			t.Fatalf("%d rounds, %d turns, error %v", len(rounds), turns, err)
		}
		for _, r := range rounds {
			first[r.First]++
		}
		if first[0] == 0 || first[1] == 0 {
			t.Errorf("chance let the sides begin %v times", first)
		}
		differences, err := compare.Differences(rounds)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"B is better by 2x", "B is better by 2x", "B is better by 2x"} {
			d := differences[i]
			if got := d.Verdict(d.LessIsBetter); got != want {
				t.Errorf("%s: %s (%+v)", d.Measure, got, d.Ratio)
			}
		}
	})
}

func TestRunEndedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		rounds, err := plan(time.Millisecond, time.Millisecond).Run(ctx, func(int, int, stage.Result) {})
		if err != nil || len(rounds) != 2 {
			t.Errorf("%d rounds, error %v", len(rounds), err)
		}
	})
}

func TestDifferencesOfNothing(t *testing.T) {
	if _, err := compare.Differences(nil); failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), "no whole round") {
		t.Errorf("error = %v", err)
	}
	if _, err := compare.Differences(make([]compare.Round, 2)); failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), "A had no answers in round 1") {
		t.Errorf("error = %v", err)
	}
}

// Which side had no answers, and why, is said.
func TestDifferencesOfASilentSide(t *testing.T) {
	var rounds [2]compare.Round
	for i := range rounds {
		rounds[i].Results[0].Result = measure.Result{Answered: 5, Elapsed: time.Second}
		rounds[i].Results[1].Result = measure.Result{Errors: 3, Faults: []measure.FaultCount{{Kind: measure.Connection, Count: 3, Example: "connection refused"}}}
	}
	_, err := compare.Differences(rounds[:])
	want := "there is nothing to compare: B had no answers in round 1: 3 of 3 requests failed, most of them with connection: connection refused"
	if failure.KindOf(err) != failure.Invalid || failure.Message(err) != want {
		t.Errorf("error = %v", err)
	}
}

// Percentiles are compared when each turn had the answers for them.
func TestDifferencesOfFewAnswers(t *testing.T) {
	turn := func(n int64) stage.Result {
		s := measure.Spread{Count: n, P50: time.Millisecond, P99: time.Millisecond}
		return stage.Result{Result: measure.Result{Elapsed: time.Second, Answered: n, Latency: s}}
	}
	for n, want := range map[int64][]string{100: {"throughput", "p50", "p99"}, 99: {"throughput", "p50"}, 1: {"throughput"}} {
		list, err := compare.Differences([]compare.Round{{Results: [2]stage.Result{turn(100), turn(100)}}, {Results: [2]stage.Result{turn(n), turn(100)}}})
		var got []string
		for _, d := range list {
			got = append(got, d.Measure)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d answers: %v, error %v", n, got, err)
		}
	}
}

// A command that serves nothing here, beside a server that does: what is tested is
// that it runs while its side has a turn, and then no more.
func TestStart(t *testing.T) {
	server := targettest.Start(t, func([]byte) ([]string, error) { return nil, nil })
	w, err := workload.New([]workload.Spec{{
		Weight: 1, Tensor: targettest.Tensor + ":UINT8:1", Contents: 1,
		Target: target.Options{Protocol: target.GRPC, URL: server.Address, Model: targettest.Model, Connections: 1},
	}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	var log bytes.Buffer
	p := plan(time.Millisecond, time.Millisecond)
	p.Log, p.Rounds, p.Stage.Duration = &log, 2, 50*time.Millisecond
	p.Sides[0].Workload, p.Sides[0].Start = w, "trap 'echo ended; exit' TERM; echo started; while :; do sleep 0.01; done"
	rounds, err := p.Run(t.Context(), func(int, int, stage.Result) {})
	if err != nil || len(rounds) != 2 || rounds[0].Results[0].Result.Answered == 0 {
		t.Fatalf("%+v, error %v", rounds, err)
	}
	if got := strings.ReplaceAll(log.String(), "Terminated\n", ""); got != strings.Repeat("started\nended\n", 2) {
		t.Errorf("the command said %q", got)
	}
	p.Sides[0].Start = "exit 1"
	p.Sides[0].Workload = workload.Of("never", never{}, 1)
	if _, err := p.Run(t.Context(), func(int, int, stage.Result) {}); failure.KindOf(err) != failure.Unavailable || !strings.Contains(failure.Message(err), "the last try: nobody") {
		t.Errorf("error = %v", err)
	}
}

// never answers.
type never struct{}

func (never) Do(context.Context, int) (measure.Answer, error) {
	return measure.Answer{}, failure.New(failure.Unavailable, "nobody")
}
