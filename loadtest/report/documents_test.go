package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/compare"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/page"
	"triptych/loadtest/report"
	"triptych/loadtest/search"
	"triptych/loadtest/stage"
	"triptych/loadtest/threshold"
	"triptych/loadtest/workload"
)

var started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func result(answered, errors int64) measure.Result {
	r := measure.Result{Elapsed: 10 * time.Second, Answered: answered, Items: answered, Errors: errors, Latency: spread(2 * time.Millisecond)}
	if errors > 0 {
		r.Faults = []measure.FaultCount{{Kind: "timeout", Count: errors, Example: "<late>"}}
	}
	return r
}

// closed is a stage that stalled after a warm-up that never was steady.
func closed() stage.Result {
	return stage.Result{
		Stage:   stage.Stage{Name: "first", Concurrency: 4, Duration: 10 * time.Second, Timeout: time.Second, Warmup: stage.Automatic()},
		Started: started, Began: started.Add(time.Minute),
		Warmup:    stage.Warmed{Result: measure.Result{Elapsed: time.Minute, Answered: 9}, Note: "not steady after 1m0s: latency still drifted"},
		Result:    result(1000, 0),
		Corrected: spread(20 * time.Millisecond),
		CPU:       time.Second,
		Verdicts:  []threshold.Verdict{{Text: "p99 < 1s", Measured: "12ms", Met: true}},
	}
}

func opened() stage.Result {
	r := result(500, 2)
	jobs := result(100, 0)
	jobs.Items = 2000
	return stage.Result{
		Stage:   stage.Stage{Name: "second", Arrivals: load.Arrivals{Rate: 50, Until: 70, Ramp: true, Even: true, MaxOutstanding: 10}, Duration: 10 * time.Second, Warmup: stage.Automatic()},
		Started: started.Add(70 * time.Second), Began: started.Add(75 * time.Second),
		Warmup: stage.Warmed{Result: measure.Result{Elapsed: 5 * time.Second, Answered: 9}},
		Result: r, Parts: []workload.Part{{Name: "photos", Weight: 4, Result: result(400, 2)}, {Name: "jobs", Weight: 1, Result: jobs}},
		Verdicts: []threshold.Verdict{{Text: "errors == 0", Measured: "2", Met: false}}, Interrupted: true,
	}
}

func scenario() report.Scenario {
	return report.Scenario{
		Name: "Day", About: "A day.", File: "day.yaml", Started: started, Requests: []string{"grpc to h:1"},
		Stages: []stage.Result{closed(), opened()}, Whole: result(1500, 2),
		Verdicts: []threshold.Verdict{{Text: "wrong == 0", Measured: "0", Met: true}}, ErrorsAllowed: true, Interrupted: true,
	}
}

func text(t *testing.T, d report.Document) string {
	t.Helper()
	var out strings.Builder
	if err := d.Text(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func document(t *testing.T, d report.Document) map[string]any {
	t.Helper()
	var out bytes.Buffer
	if err := d.JSON(&out); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestScenarioText(t *testing.T) {
	want := `Day (day.yaml)
  grpc to h:1

first: closed loop, 4 in flight, for 10.0 s after a warm-up of 60.0 s (9 answered, 0 errors)
requests    1000: 1000 answered, 0 errors
throughput  100.0/s
latency     min 2.00ms  mean 4.00ms  p50 6.00ms  p90 8.00ms  p95 10.0ms  p99 12.0ms  p99.9 140ms  max 16.0s
corrected   p50 60.0ms  p99 120ms  p99.9 1400ms, had callers kept their rhythm while answers stalled
bytes       0 B sent, 0 B received
generator   1.00 s of CPU: 0.10 cores, 1000 us a request
warm-up     not steady after 1m0s: latency still drifted
note        answers stalled: judge latency by an open loop (rate)

conditions
      met  p99 < 1s: 12ms

second: open loop, from 50 to 70 requests a second at even distances, at most 10 in flight, for 10.0 s after a warm-up of 5.0 s (9 answered, 0 errors), until steady, ended early
requests    502: 500 answered, 2 errors
throughput  50.0/s
latency     min 2.00ms  mean 4.00ms  p50 6.00ms  p90 8.00ms  p95 10.0ms  p99 12.0ms  p99.9 140ms  max 16.0s
bytes       0 B sent, 0 B received
generator   0.00 s of CPU: 0.00 cores, 0 us a request
sent late   none
  photos               400 answered, 2 errors, 40.0/s, p50 6.00ms, p99 12.0ms
  jobs                 100 answered, 0 errors, 10.0/s (2000 items), p50 6.00ms, p99 12.0ms

errors
        2  timeout: <late>

conditions
   FAILED  errors == 0: 2

all stages, 10.0 s
requests    1502: 1500 answered, 2 errors
throughput  150.0/s
latency     min 2.00ms  mean 4.00ms  p50 6.00ms  p90 8.00ms  p95 10.0ms  p99 12.0ms  p99.9 140ms  max 16.0s

conditions
      met  wrong == 0: 0

FAILED
`
	if diff := cmp.Diff(want, text(t, scenario())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScenarioPassed(t *testing.T) {
	good := report.Scenario{Whole: result(1, 0)}
	for name, tt := range map[string]struct {
		change func(*report.Scenario)
		want   bool
		text   string
	}{
		"good":            {func(*report.Scenario) {}, true, "\npassed\n"},
		"ended early":     {func(s *report.Scenario) { s.Interrupted = true }, true, "\npassed, ended early\n"},
		"errors":          {func(s *report.Scenario) { s.Whole.Errors = 3 }, false, "FAILED: 3 errors, and no condition allows any"},
		"errors allowed":  {func(s *report.Scenario) { s.Whole.Errors, s.ErrorsAllowed = 3, true }, true, "\npassed\n"},
		"nothing":         {func(s *report.Scenario) { s.Whole.Answered, s.ErrorsAllowed = 0, true }, false, "FAILED: there were no answers"},
		"all excused":     {func(s *report.Scenario) { s.Whole, s.ErrorsExcused = result(0, 3), true }, true, "\npassed\n"},
		"none to excuse":  {func(s *report.Scenario) { s.Whole, s.ErrorsExcused = result(0, 0), true }, false, "FAILED: there were no answers"},
		"missed, excused": {func(s *report.Scenario) { s.Verdicts, s.ErrorsExcused = []threshold.Verdict{{}}, true }, false, "\nFAILED\n"},
		"a condition":     {func(s *report.Scenario) { s.Verdicts = []threshold.Verdict{{}} }, false, "\nFAILED\n"},
		"one of a stage":  {func(s *report.Scenario) { s.Stages = []stage.Result{{Verdicts: []threshold.Verdict{{}}}} }, false, "\nFAILED\n"},
		"all of no stage": {func(s *report.Scenario) { s.Stages = []stage.Result{{Verdicts: []threshold.Verdict{{Met: true}}}} }, true, "\npassed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			tt.change(&s)
			if s.Passed() != tt.want || !strings.Contains(text(t, s), tt.text) {
				t.Errorf("passed %v\n%s", s.Passed(), text(t, s))
			}
		})
	}
}

func TestScenarioJSON(t *testing.T) {
	got := document(t, scenario())
	stages := got["stages"].([]any)
	first, second := stages[0].(map[string]any), stages[1].(map[string]any)
	for name, tt := range map[string]struct{ got, want any }{
		"name":       {got["scenario"], "Day"},
		"passed":     {got["passed"], false},
		"whole":      {got["whole"].(map[string]any)["answered"], 1500.0},
		"condition":  {got["conditions"], []any{map[string]any{"condition": "wrong == 0", "measured": "0", "met": true}}},
		"closed":     {first["load"], map[string]any{"loop": "closed", "concurrency": 4.0, "duration_s": 10.0, "timeout_s": 1.0}},
		"open":       {second["load"], map[string]any{"loop": "open", "rate": 50.0, "rate_to": 70.0, "arrivals": "even", "max_outstanding": 10.0, "duration_s": 10.0, "timeout_s": 0.0}},
		"warm-up":    {first["warmup"], map[string]any{"answered": 9.0, "errors": 0.0, "note": "not steady after 1m0s: latency still drifted"}},
		"corrected":  {first["latency_corrected_ms"].(map[string]any)["p99"], 120.0},
		"throughput": {first["throughput_per_s"], 100.0},
		"items":      {second["parts"].([]any)[1].(map[string]any)["items"], 2000.0},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestScenarioPage(t *testing.T) {
	p := scenario().Page()
	run := p.Runs[0]
	names := make([]string, len(run.Stages))
	for i, s := range run.Stages {
		names[i] = s.Name
	}
	if diff := cmp.Diff([]string{"first (warm-up)", "first", "second (warm-up)", "second"}, names); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	if s := run.Stages[3]; s.Start != 75*time.Second || s.Warmup || s.Result.Answered != 500 || !run.Stages[2].Warmup {
		t.Errorf("the last stage is %+v", s)
	}
	want := []page.Threshold{{Where: "first", Condition: "p99 < 1s", Measured: "12ms", Met: true}, {Where: "second", Condition: "errors == 0", Measured: "2"}}
	if diff := cmp.Diff(want, run.Thresholds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Title != "Day" || len(p.Notes) != 2 || p.Notes[0] != "A day." || p.Outcome != nil || run.Load != "2 stages" || len(run.Notes) != 2 || len(p.Tables) != 1 || len(p.Tables[0].Rows) != 2 || p.Tables[0].Rows[1].Cells[2] != "100 (2000 items)" {
		t.Errorf("%+v", p)
	}
}

func searched() report.Search {
	r := opened()
	return report.Search{
		Started: started, Requests: []string{"grpc to h:1"}, Conditions: []string{"p99 < 1s"}, Found: "50 keep, 70 do not", Best: 50, Interrupted: true,
		Steps: []search.Step{{Load: 50, Result: closed(), Kept: true}, {Load: 70, Result: r, Why: "p99 < 1s was 2s"}},
	}
}

func TestSearch(t *testing.T) {
	s := searched()
	if got := text(t, s); got != "\n50 keep, 70 do not\nended early\n" {
		t.Errorf("text %q", got)
	}
	want := "first             100.0/s  p50 6.00ms   p99 12.0ms   errors 0  kept (not steady after 1m0s: latency still drifted)"
	if got := report.StepText(s.Steps[0]); got != want {
		t.Errorf("step\n%s, want\n%s", got, want)
	}
	s.Steps[1].Result.Result.Errors, s.Steps[1].Result.Result.Faults = 9, []measure.FaultCount{{Kind: "HTTP 429 BUSY", Count: 8}, {Kind: "timeout", Count: 1}}
	if got := report.StepText(s.Steps[1]); !strings.Contains(got, "  errors 9 (most HTTP 429 BUSY)  p99 < 1s was 2s") {
		t.Errorf("step with errors\n%s", got)
	}
	d := document(t, s)
	if steps := d["steps"].([]any); d["best_per_s"] != 50.0 || steps[1].(map[string]any)["why"] != "p99 < 1s was 2s" || steps[0].(map[string]any)["kept"] != true {
		t.Errorf("%v", d)
	}
	p := s.Page()
	if rows := p.Tables[0].Rows; len(rows) != 2 || rows[0].Verdict != page.Good || rows[1].Verdict != page.Bad || rows[1].Cells[6] != "p99 < 1s was 2s" || len(p.Runs) != 2 {
		t.Errorf("%+v", p.Tables)
	}
	if s.Passed() || *p.Outcome != (page.Outcome{Verdict: page.Unsure, Text: "Ended early: 50 keep, 70 do not"}) || p.Title != "Search for the highest rate" {
		t.Errorf("title %q, outcome %+v", p.Title, p.Outcome)
	}
	if s.Passed() {
		t.Error("a search that was ended early passed")
	}
	if s.Interrupted = false; !s.Passed() || s.Page().Outcome.Verdict != page.Good {
		t.Error("a search with an answer did not pass")
	}
	if s.Conditions = nil; s.Page().Title != "Search for the capacity" {
		t.Errorf("title %q", s.Page().Title)
	}
	if s.Best = 0; s.Page().Outcome.Verdict != page.Bad {
		t.Error("a search without an answer is good")
	}
}

func compared() report.Comparison {
	slow, fast := closed(), closed()
	fast.Result = result(2000, 1)
	c := report.Comparison{
		Started: started, Requests: [2]string{"grpc to a", "grpc to b"}, Load: "closed loop, 4 in flight",
		Rounds: []compare.Round{{Results: [2]stage.Result{slow, fast}, First: 1}, {Results: [2]stage.Result{slow, fast}}},
	}
	c.Differences = []compare.Difference{
		{Measure: "throughput", Unit: "/s", Ratio: compare.Ratio{A: 100, B: 200, Ratio: 2, Low: 1.9, High: 2.1}},
		{Measure: "p99", Unit: "ms", LessIsBetter: true, Ratio: compare.Ratio{A: 12, B: 12.5, Ratio: 1.04, Low: 0.9, High: 1.2}},
		{Measure: "p50", Unit: "ms", LessIsBetter: true, Ratio: compare.Ratio{A: 12, B: 12.5, Ratio: 1.04}},
	}
	return c
}

func TestComparison(t *testing.T) {
	c := compared()
	want := `
A  grpc to a
B  grpc to b
closed loop, 4 in flight, 2 rounds

                       A            B       B/A  95 % interval     
throughput       100.0/s      200.0/s    2.000x  1.900 to 2.100      B is better by 2x
p99               12.0ms       12.5ms    1.040x  0.900 to 1.200      no difference seen
p50               12.0ms       12.5ms    1.040x  none                one round shows no interval
A and B are medians over the rounds, B/A is the geometric mean of the rounds' own ratios: it may differ from the quotient of the columns.
B, round 1: 1 times timeout: <late>
B, round 2: 1 times timeout: <late>
`
	if diff := cmp.Diff(want, text(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Passed() || c.Errors() != 2 {
		t.Errorf("passed with %d errors", c.Errors())
	}
	if c.ErrorsExcused = true; !c.Passed() {
		t.Error("errors that are excused count")
	}
	d := document(t, c)
	wanted := map[string]any{"measure": "throughput", "unit": "/s", "a": 100.0, "b": 200.0, "b_by_a": 2.0, "low": 1.9, "high": 2.1, "difference_seen": true, "verdict": "B is better by 2x"}
	if diff := cmp.Diff(wanted, d["differences"].([]any)[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rounds := d["rounds"].([]any); rounds[0].(map[string]any)["first"] != "B" || rounds[1].(map[string]any)["b"].(map[string]any)["answered"] != 2000.0 {
		t.Errorf("%v", rounds)
	}
	p := c.Page()
	if x := p.Comparisons[0]; x.A != "A" || x.ValueA != "100.0/s" || x.ValueB != "200.0/s" || !strings.HasPrefix(p.ComparisonNote, "A and B are medians") || x.Ratio != 2 || len(p.Tables[0].Rows) != 4 || p.Tables[0].Rows[0].Cells[1] != "B" {
		t.Errorf("%+v", p)
	}
	if got := report.TurnText(0, 1, c.Rounds[0].Results[1]); got != "round 1  B    200.0/s  p50 6.00ms   p99 12.0ms   errors 1 (timeout)  (not steady after 1m0s: latency still drifted)" {
		t.Errorf("turn %q", got)
	}
}
