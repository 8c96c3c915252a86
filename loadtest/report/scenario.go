package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/scrape"
	"triptych/loadtest/stage"
	"triptych/loadtest/threshold"
)

// Scenario is a test of several stages.
type Scenario struct {
	Name, About, File string
	Started           time.Time
	// Requests are what was sent, a line for each sort.
	Requests []string
	Stages   []stage.Result
	// Whole is all measurements together, without the time between them.
	Whole measure.Result
	// Intervals are the test over time, with its warm-ups; Percentiles are the
	// distribution of Whole.
	Intervals   []measure.Interval
	Percentiles []measure.Percentile
	// Verdicts are those of the conditions for the whole.
	Verdicts []threshold.Verdict
	// ErrorsAllowed is set when a condition says what errors are allowed.
	ErrorsAllowed bool
	// ErrorsExcused is set when the command line excuses requests that fail, were it
	// all of them. It excuses no condition that is not met.
	ErrorsExcused bool
	Interrupted   bool
	// Usage is what the servers say of the test, for a page.
	Usage scrape.Usage
}

// Passed tells whether all conditions are met, and there were answers, and no
// errors but those that are allowed or excused.
func (s Scenario) Passed() bool {
	for _, r := range s.Stages {
		if !r.Met() {
			return false
		}
	}
	if s.ErrorsExcused && s.Whole.Errors > 0 {
		return threshold.Met(s.Verdicts)
	}
	return threshold.Met(s.Verdicts) && s.Whole.Answered > 0 && (s.ErrorsAllowed || s.Whole.Errors == 0)
}

// Text writes the report for people.
func (s Scenario) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", s.Name, s.File)
	for _, line := range s.Requests {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	for _, r := range s.Stages {
		stageText(&b, r)
	}
	if len(s.Stages) > 1 {
		fmt.Fprintf(&b, "\nall stages, %.1f s\n", s.Whole.Elapsed.Seconds())
		row(&b, "requests", "%d: %d answered, %d errors%s", s.Whole.Requests(), s.Whole.Answered, s.Whole.Errors, some(", %d abandoned", s.Whole.Abandoned))
		row(&b, "throughput", "%.1f/s%s", s.Whole.Throughput(), itemsText(s.Whole))
		row(&b, "latency", "%s", spreadText(s.Whole.Latency))
	}
	verdictsText(&b, s.Verdicts)
	fmt.Fprintf(&b, "\n%s\n", s.verdict())
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict is the whole in a word or two.
func (s Scenario) verdict() string {
	switch {
	case s.Interrupted && s.Passed():
		return "passed, ended early"
	case s.Passed():
		return "passed"
	case s.Whole.Answered == 0:
		return "FAILED: there were no answers"
	case !s.ErrorsAllowed && !s.ErrorsExcused && s.Whole.Errors > 0:
		return fmt.Sprintf("FAILED: %d errors, and no condition allows any", s.Whole.Errors)
	default:
		return "FAILED"
	}
}

// stageText is one stage.
func stageText(b *strings.Builder, r stage.Result) {
	fmt.Fprintf(b, "\n%s: %s, for %.1f s%s%s\n", r.Stage.Name, r.Stage.Describe(), r.Result.Elapsed.Seconds(), warmedText(r), early(r.Interrupted))
	resultText(b, r)
	if r.Stalled() {
		row(b, "note", "answers stalled: judge latency by an open loop (rate)")
	}
	for _, p := range r.Parts {
		fmt.Fprintf(b, "  %-20s %d answered, %d errors, %.1f/s%s, p50 %s, p99 %s\n", p.Name, p.Result.Answered, p.Result.Errors,
			measure.PerSecond(p.Result.Answered, r.Result.Elapsed), partItems(p.Result), ms(p.Result.Latency.P50), ms(p.Result.Latency.P99))
	}
	faultsText(b, r.Result.Faults)
	verdictsText(b, r.Verdicts)
}

func warmedText(r stage.Result) string {
	w := r.Warmup.Result
	if w.Elapsed == 0 {
		return ""
	}
	text := fmt.Sprintf(" after a warm-up of %.1f s (%d answered, %d errors)", w.Elapsed.Seconds(), w.Answered, w.Errors)
	if r.Stage.Warmup.Auto && r.Warmup.Note == "" {
		text += ", until steady"
	}
	return text
}

func early(yes bool) string {
	if yes {
		return ", ended early"
	}
	return ""
}

// partItems counts the items of jobs.
func partItems(r measure.Result) string {
	if r.Items <= r.Answered {
		return ""
	}
	return fmt.Sprintf(" (%d items)", r.Items)
}

func verdictsText(b *strings.Builder, verdicts []threshold.Verdict) {
	if len(verdicts) > 0 {
		b.WriteString("\nconditions\n")
	}
	for _, v := range verdicts {
		mark := "met"
		if !v.Met {
			mark = "FAILED"
		}
		fmt.Fprintf(b, "%9s  %s: %s\n", mark, v.Text, v.Measured)
	}
}
