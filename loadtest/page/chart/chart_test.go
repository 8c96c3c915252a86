package chart_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/measure"
	"triptych/loadtest/page/chart"
	"triptych/loadtest/page/svg"
)

const msec = time.Millisecond

func label() svg.Label { return svg.Label{ID: "x", Title: "t", Description: "d"} }

// picture is a chart whose drawing must succeed, with sound coordinates.
func picture(t *testing.T, p chart.Picture, err error) chart.Picture {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, shape := range []string{p.Wide, p.Narrow} {
		if !strings.HasPrefix(shape, "<svg ") || strings.Contains(shape, "NaN") || strings.Contains(shape, "Inf") {
			t.Errorf("not sound: %s", shape)
		}
	}
	return p
}

var textElement = regexp.MustCompile(`<text [^>]*>([^<]*)</text>`)

// texts are those within a picture, in the order in which they are drawn.
func texts(shape string) []string {
	var all []string
	for _, match := range textElement.FindAllStringSubmatch(shape, -1) {
		all = append(all, match[1])
	}
	return all
}

func second(n int, p50, p99 float64, answered int64, errors ...measure.KindCount) measure.Interval {
	ms := func(v float64) time.Duration { return time.Duration(v * float64(msec)) }
	return measure.Interval{
		Start: time.Duration(n) * time.Second, Width: time.Second, Sent: answered, Answered: answered, Errors: errors,
		P50: ms(p50), P90: ms((p50 + p99) / 2), P99: ms(p99), Max: ms(p99),
	}
}

func TestLatency(t *testing.T) {
	tests := map[string]struct {
		intervals   []measure.Interval
		spans       []chart.Span
		texts       []string
		logarithmic bool
		errors      int
		points      int // of the p99
	}{
		"one second": {[]measure.Interval{second(0, 10, 30, 5)}, nil, []string{"0", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1 s", "0", "10 ms", "20 ms", "30 ms"}, false, 0, 1},
		"logarithmic": {
			[]measure.Interval{second(0, 10, 20, 5), second(1, 10, 1500, 5)},
			nil,
			[]string{"0", "0.5 s", "1 s", "1.5 s", "2 s", "10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s", "2 s"},
			true, 0, 2,
		},
		"a gap and errors": {
			[]measure.Interval{second(0, 10, 20, 5), second(1, 0, 0, 0, measure.KindCount{Kind: "<k>", Count: 3}), second(2, 10, 20, 5)},
			[]chart.Span{{Name: "first", End: time.Second, Shaded: true}, {Name: "then", Start: time.Second, End: 3 * time.Second}},
			[]string{"0", "0.5 s", "1 s", "1.5 s", "2 s", "2.5 s", "3 s", "0", "5 ms", "10 ms", "15 ms", "20 ms", "25 ms", "first", "then"},
			false, 1, 2,
		},
		"nothing":         {nil, nil, []string{"0", "0.1 s", "0"}, false, 0, 0},
		"nothing but 0":   {[]measure.Interval{second(0, 0, 0, 5)}, nil, nil, false, 0, 1},
		"no good answers": {[]measure.Interval{second(0, 0, 0, 0, measure.KindCount{Kind: "k", Count: 1})}, nil, nil, false, 1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := chart.Latency(label(), test.intervals, test.spans)
			picture(t, got, err)
			if test.texts != nil && test.texts[len(test.texts)-1] != "0" {
				if diff := cmp.Diff(test.texts, texts(got.Wide)); diff != "" {
					t.Errorf("texts (-want +got):\n%s", diff)
				}
			}
			if got.Logarithmic != test.logarithmic {
				t.Errorf("logarithmic: %v", got.Logarithmic)
			}
			if n := strings.Count(got.Wide, `"f-bad"`); n != test.errors {
				t.Errorf("%d marks of errors, want %d", n, test.errors)
			}
			if n := strings.Count(got.Wide, `"f-c2"`); n != test.points {
				t.Errorf("%d points, want %d", n, test.points)
			}
			if n := strings.Count(got.Wide, `class="hint"`); n != len(test.intervals) || strings.Contains(got.Narrow, "hint") {
				t.Errorf("%d hints, want %d and none in the narrow shape", n, len(test.intervals))
			}
		})
	}
}

func TestHints(t *testing.T) {
	interval := second(3, 10, 20, 5, measure.KindCount{Kind: "<k>", Count: 2}, measure.KindCount{Kind: measure.Overrun, Count: 1})
	got, err := chart.Latency(label(), []measure.Interval{interval}, nil)
	want := "<title>3 s to 4 s: offered 6/s, answered 5/s; p50 10 ms, p90 15 ms, p99 20 ms, max 20 ms; &lt;k&gt;: 2; overrun: 1</title>"
	if picture(t, got, err); !strings.Contains(got.Wide, want) {
		t.Errorf("no hint %s in %s", want, got.Wide)
	}
}

func TestThroughput(t *testing.T) {
	intervals := []measure.Interval{
		second(0, 1, 2, 100),
		second(1, 1, 2, 50, measure.KindCount{Kind: measure.Overrun, Count: 50}),
		{Start: 2 * time.Second, Width: 100 * msec, Sent: 90, Answered: 90}, // too short to tell a rate
	}
	got, err := chart.Throughput(label(), intervals, nil)
	picture(t, got, err)
	if all := texts(got.Wide); all[len(all)-1] != "100" {
		t.Errorf("texts %q", all)
	}
	want := []chart.Key{{Ink: chart.Neutral, Name: "offered", Look: chart.Dashed}, {Ink: chart.First, Name: "answered", Look: chart.Line}, {Ink: chart.Bad, Name: "errors", Look: chart.Line}}
	if diff := cmp.Diff(want, got.Keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	got, err = chart.Throughput(label(), intervals[:1], nil)
	if picture(t, got, err); len(got.Keys) != 2 {
		t.Errorf("keys without errors: %v", got.Keys)
	}
}

func curve(total int64, percents ...float64) chart.Curve {
	c := chart.Curve{Name: "c"}
	for i, p := range percents {
		c.Points = append(c.Points, measure.Percentile{Percent: p, Latency: time.Duration(i+1) * 10 * msec, Count: int64(p / 100 * float64(total))})
	}
	return c
}

func TestPercentiles(t *testing.T) {
	tests := map[string]struct {
		total int64
		texts []string
	}{
		"1 answer":        {1, []string{"0 %", "50 %", "90 %"}},
		"1,000 answers":   {1000, []string{"0 %", "50 %", "90 %", "99 %", "99.9 %"}},
		"a million":       {1_000_000, []string{"0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"}},
		"between two":     {5000, []string{"0 %", "50 %", "90 %", "99 %", "99.9 %"}},
		"not one request": {0, []string{"0 %", "50 %", "90 %"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := chart.Percentiles(label(), []chart.Curve{curve(test.total, 0, 50, 90, 99, 99.9, 99.99, 99.999, 100)})
			picture(t, got, err)
			if diff := cmp.Diff(test.texts, texts(got.Wide)[:len(test.texts)]); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPercentilesOfMany(t *testing.T) {
	many := make([]chart.Curve, 9)
	for i := range many {
		many[i] = curve(100, 0, 50, 100)
	}
	got, err := chart.Percentiles(label(), many)
	if picture(t, got, err); len(got.Keys) != chart.MaxCurves {
		t.Errorf("%d keys", len(got.Keys))
	}
	got, err = chart.Percentiles(label(), []chart.Curve{{Name: "empty"}})
	picture(t, got, err)
	got, err = chart.Percentiles(label(), nil)
	picture(t, got, err)
}

func TestSizes(t *testing.T) {
	got, err := chart.Sizes(label(), []chart.Bar{{Size: 1, Count: 1}, {Size: 4, Count: 3}})
	if diff := cmp.Diff([]string{"1", "4", "0 %", "20 %", "40 %", "60 %", "80 %"}, texts(picture(t, got, err).Wide)); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	var many []chart.Bar
	for i := range int64(200) {
		many = append(many, chart.Bar{Size: i, Count: i})
	}
	got, err = chart.Sizes(label(), many)
	if all := texts(picture(t, got, err).Narrow); len(all) > 20 {
		t.Errorf("%d texts on a phone: %q", len(all), all)
	}
	got, err = chart.Sizes(label(), []chart.Bar{{Size: 1}})
	picture(t, got, err)
}

func TestSplit(t *testing.T) {
	long := strings.Repeat("long ", 20)
	got, err := chart.Split(label(), []chart.Part{{Name: "whole", Whole: 80 * msec}, {Name: "<a>", Queue: 10 * msec, Compute: 20 * msec}, {Name: long}})
	picture(t, got, err)
	all := strings.Join(texts(got.Wide), "|")
	for _, want := range []string{"whole", "&lt;a&gt;", "30 ms", "80 ms", "long long long long long long long long…"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	if len(got.Keys) != 3 {
		t.Errorf("keys %v", got.Keys)
	}
	got, err = chart.Split(label(), []chart.Part{{Name: "idle"}})
	if picture(t, got, err); len(got.Keys) != 0 {
		t.Errorf("keys of nothing: %v", got.Keys)
	}
}

func TestRatios(t *testing.T) {
	tests := map[string]struct {
		ratio chart.Ratio
		texts []string // of the axis
	}{
		"near":        {chart.Ratio{Value: 1.01, Low: 0.99, High: 1.03}, []string{"1×", "1.05×", "0.952×", "1.1×", "0.909×"}},
		"some":        {chart.Ratio{Value: 1.55, Low: 1.5, High: 1.6, Bar: 1.5}, []string{"1×", "1.25×", "0.8×", "1.5×", "0.667×"}},
		"small":       {chart.Ratio{Value: 0.3}, []string{"1×", "1.5×", "0.667×", "2×", "0.5×", "3×", "0.333×"}},
		"far":         {chart.Ratio{Value: 50}, []string{"1×", "10×", "0.1×"}},
		"very far":    {chart.Ratio{Value: 1e8}, nil},
		"odd ends":    {chart.Ratio{Value: 1, Low: math.NaN(), High: math.Inf(1)}, nil},
		"ends askew":  {chart.Ratio{Value: 1, Low: 2, High: 0.5}, nil},
		"hostile bar": {chart.Ratio{Value: 1, Bar: math.Inf(1)}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.ratio.Name, test.ratio.Ink = "r", chart.Good
			got, err := chart.Ratios(label(), []chart.Ratio{test.ratio})
			all := texts(picture(t, got, err).Wide)
			if test.texts != nil {
				if diff := cmp.Diff(test.texts, all[:len(all)-1]); diff != "" {
					t.Errorf("texts (-want +got):\n%s", diff)
				}
			}
		})
	}
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-12} {
		if (chart.Ratio{Value: v}).Drawable() {
			t.Errorf("%v is drawable", v)
		}
	}
}

// Whatever is measured can be drawn.
func TestAnything(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	wild := func() time.Duration { return time.Duration(math.Pow(10, 14*random.Float64())) }
	for range 300 {
		var intervals []measure.Interval
		var points []measure.Percentile
		width := wild()/1000 + 1
		for i := range random.IntN(20) {
			interval := measure.Interval{Start: time.Duration(i) * width, Width: width, P50: wild(), P90: wild(), P99: wild(), Max: wild()}
			interval.Sent, interval.Answered = random.Int64N(1e9), random.Int64N(1e9)*random.Int64N(2)
			intervals = append(intervals, interval)
			points = append(points, measure.Percentile{Percent: 100 * random.Float64(), Latency: wild(), Count: random.Int64N(1e9)})
		}
		got, err := chart.Latency(label(), intervals, []chart.Span{{Name: "s", Start: wild(), End: wild()}, {Start: wild()}})
		picture(t, got, err)
		got, err = chart.Throughput(label(), intervals, nil)
		picture(t, got, err)
		got, err = chart.Percentiles(label(), []chart.Curve{{Points: points}})
		picture(t, got, err)
		got, err = chart.Split(label(), []chart.Part{{Queue: wild(), Compute: wild()}, {Queue: wild()}})
		picture(t, got, err)
		v := math.Pow(10, 20*random.Float64()-10)
		if r := (chart.Ratio{Value: v, Low: v * random.Float64(), High: v / random.Float64()}); r.Drawable() {
			got, err = chart.Ratios(label(), []chart.Ratio{r})
			picture(t, got, err)
		}
	}
}

func TestInks(t *testing.T) {
	seen := map[svg.Ink]bool{}
	for _, ink := range chart.Inks() {
		if seen[ink] {
			t.Errorf("%s is there twice", ink)
		}
		seen[ink] = true
	}
}
