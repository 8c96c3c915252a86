package figure_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/bench/figure"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}, {[]float64{7}, 7}} {
		if got := figure.Median(tt.values...); got != tt.want {
			t.Errorf("of %v: %v", tt.values, got)
		}
	}
	if !math.IsNaN(figure.Median()) {
		t.Error("nothing has a median")
	}
}

func to(v float64) *float64 { return &v }

func TestOutcome(t *testing.T) {
	tests := []struct {
		name string
		f    figure.Figure
		want figure.Outcome
	}{
		{"as many as must be", figure.Figure{Ours: 105, Rival: to(100), Bar: figure.AtLeast(1.05)}, figure.Good},
		{"too few", figure.Figure{Ours: 104, Rival: to(100), Bar: figure.AtLeast(1.05)}, figure.Bad},
		{"as slow as may be", figure.Figure{Ours: 50, Rival: to(100), Bar: figure.AtMost(0.5)}, figure.Good},
		{"too slow", figure.Figure{Ours: 51, Rival: to(100), Bar: figure.AtMost(0.5)}, figure.Bad},
		{"the ratio of neighbours", figure.Figure{Ours: 300, Rival: to(100), Paired: 1.9, Bar: figure.AtLeast(2)}, figure.Bad},
		{"not a number", figure.Figure{Ours: math.NaN(), Rival: to(1), Bar: figure.AtMost(1)}, figure.Bad},
		{"the value itself", figure.Figure{Ours: 20, Against: figure.Absolute, Bar: figure.AtMost(20)}, figure.Good},
		{"the value itself, too much", figure.Figure{Ours: 21, Against: figure.Absolute, Bar: figure.AtMost(20)}, figure.Bad},
		{"no rival", figure.Figure{Ours: 1, Bar: figure.AtLeast(1)}, figure.Open},
		{"no bar", figure.Figure{Ours: 1, Rival: to(1)}, figure.Open},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.f.Outcome(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestReport(t *testing.T) {
	r := figure.Report{
		Notes: []string{"A note."},
		Figures: []figure.Figure{
			{Row: 1, Name: "throughput at 4", Unit: "/s", Ours: 524.31, Rival: to(327), Against: "delay 0 us", Bar: figure.AtLeast(1.6)},
			{Row: 3, Name: "batcher", Unit: "us", Ours: 23.456, Against: figure.Absolute, Bar: figure.AtMost(20)},
			{Row: 2, Name: "batch at 5 %", Ours: 1},
		},
		Points: []figure.Point{{Percent: 5, Side: "ours", P50: 5.5}},
	}
	var out bytes.Buffer
	if err := r.Table(&out); err != nil {
		t.Fatal(err)
	}
	want := `row  what             ours      rival  of          ratio  bar
1    throughput at 4  524.3 /s  327    delay 0 us  1.603  >= 1.6  good
3    batcher          23.46 us  -      itself      -      <= 20   BAD
2    batch at 5 %     1         -                  -      -

A note.
`
	var got strings.Builder
	for line := range strings.Lines(out.String()) {
		got.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Bad() != 1 {
		t.Errorf("%d bad", r.Bad())
	}
	out.Reset()
	if err := r.JSON(&out); err != nil {
		t.Fatal(err)
	}
	var back figure.Report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || !cmp.Equal(back, r) {
		t.Errorf("error %v, %s", err, cmp.Diff(r, back))
	}
}
