package page_test

import (
	"math"
	"math/rand/v2"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/page"
)

const msec = time.Millisecond

// timeline is a run of so many intervals at a rate, with a stall in the middle:
// no answers for a while, then slow ones, and errors.
func timeline(n int, width time.Duration, rate float64) []measure.Interval {
	random := rand.New(rand.NewPCG(1, 2))
	var all []measure.Interval
	for i := range n {
		count := int64(rate * width.Seconds() * (0.95 + 0.1*random.Float64()))
		base := 80 + 10*random.Float64()
		interval := measure.Interval{Start: time.Duration(i) * width, Width: width, Sent: count, Answered: count}
		switch at := i - n/2; {
		case n > 10 && (at == 0 || at == 1):
			interval.Answered = 0
		case n > 10 && at > 1 && at < 5:
			base *= 6 - float64(at)
			interval.Answered -= 12
			interval.Errors = []measure.KindCount{{Kind: "HTTP 429 BUSY", Count: 9}, {Kind: measure.Overrun, Count: 3}}
		}
		if interval.Answered > 0 {
			ms := func(v float64) time.Duration { return time.Duration(v * float64(msec)) }
			interval.P50, interval.P90 = ms(base), ms(base*1.6)
			interval.P99, interval.Max = ms(base*2.2+20*random.Float64()), ms(base*3)
		}
		all = append(all, interval)
	}
	return all
}

// percentiles are those of a long tail.
func percentiles(n int64, median float64) []measure.Percentile {
	var points []measure.Percentile
	for k := range 80 {
		q := 1 - math.Pow(2, -float64(k)/5)
		if 1/(1-q) > float64(n) {
			break
		}
		latency := median * (0.4 + 0.6*math.Pow(1/(1-q), 0.35)/math.Pow(2, 0.35))
		points = append(points, measure.Percentile{Percent: 100 * q, Latency: time.Duration(latency * float64(msec)), Count: int64(q * float64(n))})
	}
	return append(points, measure.Percentile{Percent: 100, Latency: time.Duration(10 * median * float64(msec)), Count: n})
}

func spreadOf(median float64) measure.Spread {
	of := func(v float64) time.Duration { return time.Duration(v * median * float64(msec)) }
	return measure.Spread{Count: 10_000, Min: of(0.4), Mean: of(1.1), P50: of(1), P90: of(1.6), P95: of(1.9), P99: of(2.4), P999: of(4.4), Max: of(6)}
}

func result(answered int64, elapsed time.Duration, median float64) measure.Result {
	return measure.Result{
		Elapsed: elapsed, Answered: answered, Errors: 36, Sent: answered * 120_000, Received: answered * 300,
		Faults: []measure.FaultCount{
			{Kind: "HTTP 429 BUSY", Count: 27, Example: "the queue of efficientnet_lite0 is full", Latency: spreadOf(3)},
			{Kind: measure.Overrun, Count: 9, Example: "not sent: as many requests as allowed were in flight"},
		},
		Latency: spreadOf(median), Lateness: measure.Spread{Mean: 40 * time.Microsecond, P50: 30 * time.Microsecond, P99: 200 * time.Microsecond, Max: 2 * msec},
	}
}

// full is a report with everything in it.
func full() *page.Report {
	r := &page.Report{
		Title: "The chain beside its rival", When: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC),
		Facts: []page.Fact{
			{Name: "Processor", Value: "Intel Xeon, 2 cores"},
			{Name: "System", Value: "Linux 6.1, amd64"},
			{Name: "Go", Value: "go1.26.0"},
			{Name: "A", Value: "grpc://127.0.0.1:8001"},
			{Name: "B", Value: "grpc://127.0.0.1:18001"},
			{Name: "Images", Value: "64 photographs, 120 kB each"},
		},
		Command: "loadtest compare --report out.html --model classify grpc://127.0.0.1:8001 grpc://127.0.0.1:18001 testdata/images",
		Notes:   []string{"Generator and servers shared two cores."},
		Tables: []page.Table{{
			Title: "Bars", Bars: true, Note: "Medians of three rounds, in turn.", Header: []string{"Row", "Ours", "Rival", "Ratio", "Bar"},
			Rows: []page.Row{
				{Cells: []string{"float32, 16 callers: throughput", "188/s", "121/s", "1.55×", "≥ 1.5×"}, Verdict: page.Good},
				{Cells: []string{"float32, 16 callers: p99", "141 ms", "212 ms", "0.67×", "≤ 0.7×"}, Verdict: page.Good},
				{Cells: []string{"INT8, 16 callers: throughput", "249/s", "171/s", "1.46×", "≥ 1.5×"}, Verdict: page.Bad},
				{Cells: []string{"soak: 30 minutes", "0 wrong", "", "", "0 wrong"}, Verdict: page.Unsure},
			},
		}},
		Comparisons: []page.Comparison{
			{Measure: "throughput", A: "Rival", B: "Triptych", ValueA: "121/s", ValueB: "188/s", Ratio: 1.55, Low: 1.49, High: 1.62, Bar: 1.5, Verdict: "Triptych is higher"},
			{Measure: "p50", A: "Rival", B: "Triptych", ValueA: "85 ms", ValueB: "82 ms", Ratio: 0.97, Low: 0.92, High: 1.03, LessIsBetter: true, Verdict: "no difference seen"},
			{Measure: "p99", A: "Rival", B: "Triptych", ValueA: "212 ms", ValueB: "141 ms", Ratio: 0.67, Low: 0.61, High: 0.72, LessIsBetter: true, Bar: 0.7, Verdict: "Triptych is lower"},
			{Measure: "CPU a request", A: "Rival", B: "Triptych", ValueA: "9.1 ms", ValueB: "10.4 ms", Ratio: 1.14, Low: 1.1, High: 1.19, LessIsBetter: true, Verdict: "Triptych is higher"},
		},
		ComparisonNote: "Values are medians.",
		Thresholds:     []page.Threshold{{Condition: "wrong == 0", Measured: "0", Met: true}},
	}
	return withRuns(r)
}

func withRuns(r *page.Report) *page.Report {
	r.Runs = []page.Run{
		{
			Name: "Triptych", Target: "gRPC 127.0.0.1:8001, model classify", Load: "open loop, 180 requests a second", Result: result(21_600, 120*time.Second, 82),
			Stages: []page.Stage{
				{Name: "warm-up", Load: "rate 180", Duration: 20 * time.Second, Warmup: true, Result: result(3600, 20*time.Second, 90)},
				{Name: "hold", Load: "rate 180", Start: 20 * time.Second, Duration: 60 * time.Second, Result: result(10_800, 60*time.Second, 82)},
				{Name: "soak", Load: "rate 180", Start: 80 * time.Second, Duration: 60 * time.Second, Result: result(10_800, 60*time.Second, 82)},
			},
			Timeline: timeline(140, time.Second, 180), Percentiles: percentiles(21_600, 82),
			Thresholds: []page.Threshold{{Where: "hold", Condition: "p99 < 200ms", Measured: "197 ms", Met: true}, {Condition: "errors < 0.1%", Measured: "0.17 %"}},
			Steps: []page.Step{
				{Model: "classify", Version: "1", Ensemble: true, Requests: 21_573, Runs: 21_573, Inferences: 21_573, Total: 71 * msec, Admitted: 21_600, Waited: 9 * msec},
				{Model: "imagenet_preprocess", Version: "1", Requests: 21_600, Runs: 21_600, Queue: 900 * time.Microsecond, Compute: 5200 * time.Microsecond},
				{Model: "efficientnet_lite0", Version: "2", Requests: 21_600, Failed: 27, CacheHits: 120, Runs: 7_300, Inferences: 21_480, Queue: 38 * msec, Compute: 21 * msec},
				{Model: "imagenet_postprocess", Version: "1", Requests: 21_573, Runs: 21_573, Queue: 10 * time.Microsecond, Compute: 190 * time.Microsecond},
			},
			Batches:  []page.Batches{{Model: "efficientnet_lite0", Version: "2", Sizes: []page.BatchSize{{1, 900}, {2, 1800}, {3, 2600}, {4, 1500}, {5, 400}, {8, 100}}}},
			Services: []page.Service{{Name: "gateway", CPU: 31 * time.Second, MemoryBefore: 60 << 20, MemoryAfter: 71 << 20}, {Name: "predictor", CPU: 140 * time.Second, MemoryBefore: 260 << 20, MemoryAfter: 251 << 20}},
			Notes:    []string{"The warm-up never became steady within 20 s."},
		},
		{
			Name: "Rival", Target: "gRPC 127.0.0.1:18001, model classify", Load: "closed loop, 16 callers", Result: result(14_520, 120*time.Second, 130),
			Timeline: timeline(24, time.Second, 121), Percentiles: percentiles(14_520, 130),
		},
	}
	return r
}
