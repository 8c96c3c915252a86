package page

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"triptych/loadtest/page/chart"
	"triptych/loadtest/page/svg"
)

// view is a report as the template takes it: texts, tables and charts.
type view struct {
	Style       template.CSS
	Policy      string
	Title, When string
	Facts       []Fact
	Command     string
	Notes       []string
	Outcome     *Outcome
	Tables      []Table
	Comparisons *section
	Thresholds  *Table
	// Summary and Curves put the runs beside each other when there are several.
	Summary *Table
	Curves  *figure
	Runs    []runView
	// Single is set when the one run needs no heading: it has the page's.
	Single bool
	// Folded is set when there are so many runs that each is to be opened.
	Folded bool
}

// maxOpen is how many runs are shown unfolded.
const maxOpen = 6

// section is a chart and the table that is always shown with it.
type section struct {
	Figure *figure
	Table  Table
}

// figure is a chart with its numbers.
type figure struct {
	Title, Caption string
	Wide, Narrow   template.HTML
	Keys           []chart.Key
	Numbers        Table
}

// figures makes them, each with an id of its own.
type figures struct{ made int }

// drawing draws a picture under a label.
type drawing func(svg.Label) (chart.Picture, error)

// figure draws one. The description is for those who can't see the picture.
func (f *figures) figure(title, caption, description string, numbers Table, draw drawing) (*figure, error) {
	f.made++
	picture, err := draw(svg.Label{ID: "chart" + strconv.Itoa(f.made), Title: title, Description: description})
	if err != nil {
		return nil, err
	}
	if picture.Logarithmic {
		caption += " The axis of values is logarithmic."
	}
	// The chart package writes these, and escapes every text in them.
	wide, narrow := template.HTML(picture.Wide), template.HTML(picture.Narrow)
	return &figure{Title: title, Caption: caption, Wide: wide, Narrow: narrow, Keys: picture.Keys, Numbers: numbers}, nil
}

func newView(r *Report) (*view, error) {
	v := &view{
		Title: r.Title, Facts: r.Facts, Command: r.Command, Notes: r.Notes, Outcome: newOutcome(r),
		Tables: r.Tables, Thresholds: thresholdTable(r.Thresholds), Summary: summaryTable(r.Runs), Folded: len(r.Runs) > maxOpen,
		Single: len(r.Runs) == 1 && r.Runs[0].Name == r.Title,
	}
	if !r.When.IsZero() {
		v.When = r.When.UTC().Format("2 January 2006, 15:04 UTC")
	}
	made := &figures{}
	var err error
	if v.Comparisons, err = made.comparisons(r.Comparisons, r.ComparisonNote); err != nil {
		return nil, err
	}
	if v.Curves, err = made.curves(r.Runs); err != nil {
		return nil, err
	}
	for i := range r.Runs {
		run, err := made.run(&r.Runs[i], i)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", r.Runs[i].Name, err)
		}
		v.Runs = append(v.Runs, run)
	}
	return v, nil
}

// newOutcome is the report's own, or counts what had a bar: thresholds, comparisons,
// and rows of tables. It is nil when nothing had.
func newOutcome(r *Report) *Outcome {
	if r.Outcome != nil {
		return r.Outcome
	}
	total, missed := 0, 0
	count := func(met bool) {
		total++
		if !met {
			missed++
		}
	}
	for _, t := range r.Thresholds {
		count(t.Met)
	}
	for _, run := range r.Runs {
		for _, t := range run.Thresholds {
			count(t.Met)
		}
	}
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			if t.Bars && (row.Verdict == Good || row.Verdict == Bad) {
				count(row.Verdict == Good)
			}
		}
	}
	for _, c := range r.Comparisons {
		if c.Bar != 0 {
			count(c.barMet())
		}
	}
	switch {
	case total == 0:
		return nil
	case missed == 1 && total == 1:
		return &Outcome{Bad, "The bar was missed"}
	case missed > 0:
		return &Outcome{Bad, fmt.Sprintf("%d of %d bars missed", missed, total)}
	case total == 1:
		return &Outcome{Good, "The bar was met"}
	default:
		return &Outcome{Good, fmt.Sprintf("All %d bars met", total)}
	}
}

// Parts are the value's text, cut where a line may break: behind slashes that stand
// alone.
func (f Fact) Parts() []string {
	var parts []string
	for _, part := range strings.SplitAfter(f.Value, "/") {
		if last := len(parts) - 1; part == "/" && last >= 0 || last >= 0 && strings.HasSuffix(parts[last], "//") {
			parts[last] += part
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

// String is the verdict's class, and its mark in a table.
func (v Verdict) String() string {
	switch v {
	case Good:
		return "good"
	case Bad:
		return "bad"
	case Unsure:
		return "unsure"
	default:
		return ""
	}
}

// Mark is a verdict for those who can't tell its colour.
func (v Verdict) Mark() string {
	switch v {
	case Good:
		return "✓"
	case Bad:
		return "✗"
	case Unsure:
		return "?"
	default:
		return ""
	}
}

// Word is a verdict for those who hear it.
func (v Verdict) Word() string {
	switch v {
	case Good:
		return "met"
	case Bad:
		return "missed"
	case Unsure:
		return "unsure"
	default:
		return ""
	}
}

// Judged tells whether any row has a verdict.
func (t Table) Judged() bool {
	for _, row := range t.Rows {
		if row.Verdict != None {
			return true
		}
	}
	return false
}

// Numeric tells of each column whether it has only numbers. There are as many as
// the longest row needs.
func (t Table) Numeric() []bool {
	columns := len(t.Header)
	for _, row := range t.Rows {
		columns = max(columns, len(row.Cells))
	}
	numbers := make([]bool, columns)
	for i := range numbers {
		numbers[i] = len(t.Rows) > 0
		for _, row := range t.Rows {
			numbers[i] = numbers[i] && (i >= len(row.Cells) || numeric(row.Cells[i]))
		}
	}
	return numbers
}

func verdictOf(met bool) Verdict {
	if met {
		return Good
	}
	return Bad
}

// since is a time of a timeline in seconds.
func since(d time.Duration) string {
	return strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', -1, 64)
}
