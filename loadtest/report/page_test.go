package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/compare"
	"triptych/loadtest/page"
	"triptych/loadtest/report"
)

// The badge says why a scenario failed where that is no condition, and notes do not
// repeat it.
func TestScenarioOutcome(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*report.Scenario)
		want   *page.Outcome
	}{
		"conditions":         {func(*report.Scenario) {}, nil},
		"passed without any": {func(s *report.Scenario) { s.Stages, s.Verdicts = s.Stages[:0], nil }, nil},
		"errors":             {func(s *report.Scenario) { s.ErrorsAllowed = false }, &page.Outcome{Verdict: page.Bad, Text: "Failed: 2 errors, and no condition allows any"}},
		"no answers":         {func(s *report.Scenario) { s.Whole.Answered = 0 }, &page.Outcome{Verdict: page.Bad, Text: "Failed: there were no answers"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenario()
			tt.change(&s)
			p := s.Page()
			if diff := cmp.Diff(tt.want, p.Outcome); diff != "" || strings.Contains(strings.Join(p.Notes, " "), "utcome") {
				t.Errorf("notes %q, outcome (-want +got):\n%s", p.Notes, diff)
			}
		})
	}
	s := scenario()
	if s.Stages = s.Stages[:1]; s.Page().Runs[0].Load != s.Stages[0].Stage.Describe() {
		t.Errorf("load %q", s.Page().Runs[0].Load)
	}
}

// A comparison's page begins with what it shows.
func TestConclusion(t *testing.T) {
	throughput := func(ratio, low, high float64) compare.Difference {
		return compare.Difference{Measure: "throughput", Unit: "/s", Ratio: compare.Ratio{Ratio: ratio, Low: low, High: high}}
	}
	p99 := compare.Difference{Measure: "p99", Unit: "ms", LessIsBetter: true, Ratio: compare.Ratio{Ratio: 0.5, Low: 0.4, High: 0.6}}
	good := []compare.Round{{}, {}}
	for name, tt := range map[string]struct {
		rounds      []compare.Round
		differences []compare.Difference
		want        string
		verdict     page.Verdict
	}{
		"B":         {good, []compare.Difference{throughput(1.548, 1.481, 1.612), p99}, "B answers 1.55x as many requests a second as A, 95 % interval 1.48 to 1.61", page.None},
		"A":         {good, []compare.Difference{throughput(0.5, 0.4, 0.8)}, "A answers 2.00x as many requests a second as B, 95 % interval 1.25 to 2.50", page.None},
		"latency":   {good, []compare.Difference{throughput(1, 0.99, 1.01), p99}, "No difference in throughput seen; the p99 of B is 0.50x that of A, 95 % interval 0.40 to 0.60", page.None},
		"none":      {good, []compare.Difference{throughput(1.01, 0.98, 1.04)}, "No difference seen: B answers 1.01x as many requests a second as A, 95 % interval 0.98 to 1.04", page.None},
		"one round": {good[:1], []compare.Difference{throughput(2, 0, 0)}, "In one round, which shows no interval, B answers 2.00x as many requests a second as A", page.None},
		"errors":    {compared().Rounds, []compare.Difference{throughput(2, 1.9, 2.1)}, "B answers 2.00x as many requests a second as A, 95 % interval 1.90 to 2.10; 2 requests failed", page.Bad},
	} {
		t.Run(name, func(t *testing.T) {
			got := report.Comparison{Rounds: tt.rounds, Differences: tt.differences}.Page().Outcome
			if diff := cmp.Diff(&page.Outcome{Verdict: tt.verdict, Text: tt.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	c := report.Comparison{Rounds: good, Differences: []compare.Difference{throughput(1, 0.9, 1.1)}}
	if note := c.Page().ComparisonNote; !strings.HasSuffix(note, "p50 and p99 are left out: a turn had too few answers for them.") {
		t.Errorf("note %q", note)
	}
	if got := (report.Comparison{}).Page().Outcome; got != nil {
		t.Errorf("of nothing: %+v", got)
	}
}

// The page of a single load says nothing twice.
func TestPage(t *testing.T) {
	r := example()
	r.Stage = closed()
	r.Stage.Corrected.Count = 107
	p := r.Page()
	run := p.Runs[0]
	want := []string{
		"Warm-up: not steady after 1m0s: latency still drifted.",
		"A closed loop hides waits. Had callers kept their rhythm while answers stalled, p50 would be 60.0ms and p99 120ms.",
	}
	if diff := cmp.Diff(want, run.Notes); diff != "" || run.Name != p.Title || run.Target != "" || p.Facts[0].Value != "grpc to 127.0.0.1:8001, model classify, 9 images" {
		t.Errorf("title %q, run %q to %q, notes (-want +got):\n%s", p.Title, run.Name, run.Target, diff)
	}
}
