package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/search"
)

// Search is a search for a rate or for a capacity.
type Search struct {
	Started  time.Time
	Requests []string
	// Conditions are what was to be kept; none for a capacity.
	Conditions []string
	Steps      []search.Step
	// Found is the answer in a sentence; Best is its number, in requests a second,
	// and 0 when there is none.
	Found       string
	Best        float64
	Interrupted bool
}

// StepText is a step in a line.
func StepText(s search.Step) string {
	mark := "kept"
	if !s.Kept {
		mark = s.Why
	}
	r := s.Result.Result
	line := fmt.Sprintf("%-14s %8.1f/s  p50 %-8s p99 %-8s %s  %s", s.Result.Stage.Name, r.Throughput(), p50(r.Latency), p99(r.Latency), errorsText(r), mark)
	if s.Result.Warmup.Note != "" {
		line += " (" + s.Result.Warmup.Note + ")"
	}
	return line
}

// errorsText counts errors and names the kind of most of them.
func errorsText(r measure.Result) string {
	switch len(r.Faults) {
	case 0:
		return fmt.Sprintf("errors %d", r.Errors)
	case 1:
		return fmt.Sprintf("errors %d (%s)", r.Errors, r.Faults[0].Kind)
	default:
		return fmt.Sprintf("errors %d (most %s)", r.Errors, r.Faults[0].Kind)
	}
}

// Text writes the report for people. The steps were told as they happened.
func (s Search) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", s.Found)
	if s.Interrupted {
		b.WriteString("ended early\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Passed tells whether there is an answer.
func (s Search) Passed() bool { return s.Best > 0 && !s.Interrupted }

type stepJSON struct {
	Load float64 `json:"load"`
	Kept bool    `json:"kept"`
	Why  string  `json:"why,omitempty"`
	stageJSON
}

type searchJSON struct {
	Started     time.Time  `json:"started"`
	Requests    []string   `json:"requests"`
	Conditions  []string   `json:"keep,omitempty"`
	Found       string     `json:"found"`
	Best        float64    `json:"best_per_s"`
	Interrupted bool       `json:"interrupted"`
	Steps       []stepJSON `json:"steps"`
}

// JSON writes the report as one document.
func (s Search) JSON(w io.Writer) error {
	d := searchJSON{s.Started.UTC(), s.Requests, s.Conditions, s.Found, s.Best, s.Interrupted, make([]stepJSON, 0, len(s.Steps))}
	for _, step := range s.Steps {
		d.Steps = append(d.Steps, stepJSON{step.Load, step.Kept, step.Why, stageDocument(step.Result)})
	}
	return encode(w, d)
}
