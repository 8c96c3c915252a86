package report

import (
	"fmt"
	"strconv"
	"strings"

	"triptych/loadtest/compare"
	"triptych/loadtest/measure"
	"triptych/loadtest/page"
	"triptych/loadtest/stage"
	"triptych/loadtest/threshold"
)

// interruptedNote is what a page says of a test that was ended early.
const interruptedNote = "The test was ended early."

// Page is the report as a page.
func (r Report) Page() *page.Report {
	run := runOf(r.Stage)
	run.Name = "Load test of " + r.Settings.Model
	r.Usage.Fill(&run)
	return &page.Report{
		Title: run.Name, When: r.Stage.Started, Facts: []page.Fact{{Name: "target", Value: r.Settings.targetText()}},
		Notes: earlyNotes(r.Stage.Interrupted), Runs: []page.Run{run},
	}
}

func earlyNotes(interrupted bool) []string {
	if interrupted {
		return []string{interruptedNote}
	}
	return nil
}

// runOf is one stage as a run.
func runOf(r stage.Result) page.Run {
	return page.Run{
		Name: r.Stage.Name, Load: r.Stage.Describe(), Result: r.Result,
		Timeline: r.Intervals, Percentiles: r.Percentiles, Thresholds: thresholdsOf("", r.Verdicts), Notes: notesOf(r, ""),
	}
}

// notesOf are remarks on a stage, which they name with of where there are several.
func notesOf(r stage.Result, of string) []string {
	var notes []string
	if w := r.Warmup; w.Note != "" {
		notes = append(notes, "Warm-up"+of+": "+w.Note+".")
	}
	if c := r.Corrected; c.Tells(99) {
		text := fmt.Sprintf("A closed loop hides waits. Had callers%s kept their rhythm while answers stalled, p50 would be %s and p99 %s", of, p50(c), p99(c))
		if c.Tells(99.9) {
			text += " and p99.9 " + p999(c)
		}
		notes = append(notes, text+".")
	}
	return notes
}

func thresholdsOf(where string, verdicts []threshold.Verdict) []page.Threshold {
	list := make([]page.Threshold, 0, len(verdicts))
	for _, v := range verdicts {
		list = append(list, page.Threshold{Where: where, Condition: v.Text, Measured: v.Measured, Met: v.Met})
	}
	return list
}

// Page is the report as a page: one run of all stages.
func (s Scenario) Page() *page.Report {
	p := &page.Report{Title: s.Name, When: s.Started, Notes: earlyNotes(s.Interrupted), Thresholds: thresholdsOf("", s.Verdicts), Outcome: s.outcome()}
	if s.About != "" {
		p.Notes = append([]string{s.About}, p.Notes...)
	}
	p.Facts = append(p.Facts, page.Fact{Name: "scenario", Value: s.File})
	for _, line := range s.Requests {
		p.Facts = append(p.Facts, page.Fact{Name: "requests", Value: line})
	}
	run := page.Run{Name: s.Name, Load: s.load(), Result: s.Whole, Timeline: s.Intervals, Percentiles: s.Percentiles}
	for _, r := range s.Stages {
		if w := r.Warmup.Result; w.Elapsed > 0 {
			run.Stages = append(run.Stages, page.Stage{Name: r.Stage.WarmupName(), Load: r.Stage.Describe(), Start: r.Started.Sub(s.Started), Duration: w.Elapsed, Warmup: true, Result: w})
		}
		run.Stages = append(run.Stages, page.Stage{Name: r.Stage.Name, Load: r.Stage.Describe(), Start: r.Began.Sub(s.Started), Duration: r.Result.Elapsed, Result: r.Result})
		run.Thresholds = append(run.Thresholds, thresholdsOf(r.Stage.Name, r.Verdicts)...)
		run.Notes = append(run.Notes, notesOf(r, " of "+r.Stage.Name)...)
	}
	s.Usage.Fill(&run)
	p.Runs = []page.Run{run}
	if parts := s.parts(); len(parts.Rows) > 0 {
		p.Tables = append(p.Tables, parts)
	}
	return p
}

// outcome says why the test failed, if it was no condition: those are counted.
func (s Scenario) outcome() *page.Outcome {
	if why, failed := strings.CutPrefix(s.verdict(), "FAILED: "); failed {
		return &page.Outcome{Verdict: page.Bad, Text: "Failed: " + why}
	}
	return nil
}

// load is that of the one stage, or how many there are.
func (s Scenario) load() string {
	if len(s.Stages) == 1 {
		return s.Stages[0].Stage.Describe()
	}
	return strconv.Itoa(len(s.Stages)) + " stages"
}

// parts is a table of the sorts of requests in each stage.
func (s Scenario) parts() page.Table {
	t := page.Table{Title: "By sort of request", Header: []string{"stage", "requests", "answered", "errors", "answers/s", "p50", "p99"}}
	for _, r := range s.Stages {
		for _, p := range r.Parts {
			t.Rows = append(t.Rows, page.Row{Cells: []string{
				r.Stage.Name, p.Name, strconv.FormatInt(p.Result.Answered, 10) + partItems(p.Result), strconv.FormatInt(p.Result.Errors, 10),
				fmt.Sprintf("%.1f", measure.PerSecond(p.Result.Answered, r.Result.Elapsed)), p50(p.Result.Latency), p99(p.Result.Latency),
			}})
		}
	}
	return t
}

// outcome is what was found. Steps that fail are how it was.
func (s Search) outcome() *page.Outcome {
	switch {
	case s.Interrupted:
		return &page.Outcome{Verdict: page.Unsure, Text: "Ended early: " + s.Found}
	case s.Passed():
		return &page.Outcome{Verdict: page.Good, Text: upper(s.Found)}
	default:
		return &page.Outcome{Verdict: page.Bad, Text: upper(s.Found)}
	}
}

// upper begins a sentence.
func upper(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Page is the report as a page: a table of the steps.
func (s Search) Page() *page.Report {
	p := &page.Report{Title: "Search for the highest rate", When: s.Started, Outcome: s.outcome()}
	if len(s.Conditions) == 0 {
		p.Title = "Search for the capacity"
	}
	for _, line := range s.Requests {
		p.Facts = append(p.Facts, page.Fact{Name: "requests", Value: line})
	}
	for _, c := range s.Conditions {
		p.Facts = append(p.Facts, page.Fact{Name: "to be kept", Value: c})
	}
	t := page.Table{Title: "Steps", Note: "In the order in which they were tried.", Header: []string{"load", "answers/s", "p50", "p99", "p99.9", "errors", "outcome"}}
	tried := map[string]int{}
	for _, step := range s.Steps {
		r, row := step.Result.Result, page.Row{Verdict: page.Good}
		outcome := "kept"
		if !step.Kept {
			row.Verdict, outcome = page.Bad, step.Why
		}
		name := step.Result.Stage.Name
		if tried[name]++; tried[name] > 1 {
			name = fmt.Sprintf("%s, try %d", name, tried[name])
		}
		row.Cells = []string{name, fmt.Sprintf("%.1f", r.Throughput()), p50(r.Latency), p99(r.Latency), p999(r.Latency), strconv.FormatInt(r.Errors, 10), outcome}
		t.Rows = append(t.Rows, row)
		run := runOf(step.Result)
		run.Name = name
		p.Runs = append(p.Runs, run)
	}
	p.Tables = []page.Table{t}
	return p
}

// Page is the report as a page: the ratios, and a table of the rounds.
func (c Comparison) Page() *page.Report {
	p := &page.Report{Title: "Comparison of two servers", When: c.Started, Notes: earlyNotes(c.Interrupted), Outcome: c.conclusion(), ComparisonNote: c.footnote()}
	p.Facts = []page.Fact{{Name: "A", Value: c.Requests[0]}, {Name: "B", Value: c.Requests[1]}, {Name: "load", Value: fmt.Sprintf("%s, %d rounds", c.Load, len(c.Rounds))}}
	for _, d := range c.Differences {
		p.Comparisons = append(p.Comparisons, page.Comparison{
			Measure: d.Measure, A: compare.SideName(0), B: compare.SideName(1), ValueA: value(d.A, d.Unit), ValueB: value(d.B, d.Unit),
			Ratio: d.Ratio.Ratio, Low: d.Low, High: d.High, LessIsBetter: d.LessIsBetter, Verdict: d.Verdict(d.LessIsBetter),
		})
	}
	t := page.Table{Title: "Rounds", Note: "Chance says who begins a round.", Header: []string{"round", "side", "answers/s", "p50", "p99", "errors"}}
	for n, round := range c.Rounds {
		for _, side := range []int{round.First, 1 - round.First} {
			r := round.Results[side].Result
			t.Rows = append(t.Rows, page.Row{Cells: []string{strconv.Itoa(n + 1), compare.SideName(side), fmt.Sprintf("%.1f", r.Throughput()), p50(r.Latency), p99(r.Latency), strconv.FormatInt(r.Errors, 10)}})
		}
	}
	p.Tables = []page.Table{t}
	return p
}
