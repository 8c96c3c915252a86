package report

import (
	"fmt"
	"slices"
	"strings"

	"triptych/loadtest/compare"
	"triptych/loadtest/page"
)

// conclusion is what a comparison shows in a sentence: nil for nothing.
func (c Comparison) conclusion() *page.Outcome {
	if len(c.Differences) == 0 {
		return nil
	}
	first := c.Differences[0]
	seen := slices.IndexFunc(c.Differences, func(d compare.Difference) bool { return d.Seen() })
	o := &page.Outcome{}
	switch {
	case first.High == 0:
		o.Text = "In one round, which shows no interval, " + clause(first)
	case seen < 0:
		o.Text = "No difference seen: " + clause(first)
	case seen > 0:
		o.Text = "No difference in " + first.Measure + " seen; " + clause(c.Differences[seen])
	default:
		o.Text = clause(first)
	}
	if n := c.Errors(); n > 0 {
		o.Verdict, o.Text = page.Bad, fmt.Sprintf("%s; %d requests failed", o.Text, n)
	}
	return o
}

// clause says of a throughput how many times the lesser the greater is, and of a
// latency how many times A's B's is.
func clause(d compare.Difference) string {
	r := d.Ratio
	var text string
	switch {
	case d.LessIsBetter:
		text = fmt.Sprintf("the %s of B is %.2fx that of A", d.Measure, r.Ratio)
	case r.Ratio < 1:
		text = fmt.Sprintf("A answers %.2fx as many requests a second as B", 1/r.Ratio)
		if r.High > 0 {
			r.Low, r.High = 1/r.High, 1/r.Low
		}
	default:
		text = fmt.Sprintf("B answers %.2fx as many requests a second as A", r.Ratio)
	}
	if r.High > 0 {
		text += fmt.Sprintf(", 95 %% interval %.2f to %.2f", r.Low, r.High)
	}
	return text
}

// footnote says how the table's columns go together, and what is not in it.
func (c Comparison) footnote() string {
	var notes, missing []string
	if len(c.Rounds) > 1 {
		notes = append(notes, "A and B are medians over the rounds, B/A is the geometric mean of the rounds' own ratios: it may differ from the quotient of the columns.")
	}
	for _, name := range []string{"p50", "p99"} {
		if !slices.ContainsFunc(c.Differences, func(d compare.Difference) bool { return d.Measure == name }) {
			missing = append(missing, name)
		}
	}
	switch len(missing) {
	case 1:
		notes = append(notes, missing[0]+" is left out: a turn had too few answers for it.")
	case 2:
		notes = append(notes, strings.Join(missing, " and ")+" are left out: a turn had too few answers for them.")
	}
	return strings.Join(notes, " ")
}
