// Package sheet shows what a benchmark found as a web page: its table, then the runs
// that it kept. It measures nothing.
package sheet

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/page"
)

// Write makes the page of a report in a file.
func Write(file, title, command string, r figure.Report, runs []page.Run) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make a folder for the page: %w", err)
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return errors.Join(page.Write(out, Page(title, command, r, runs)), out.Close())
}

// Page is a report as a page has it.
func Page(title, command string, r figure.Report, runs []page.Run) *page.Report {
	p := &page.Report{Title: title, When: r.Started, Command: command, Notes: r.Notes, Runs: runs}
	for _, name := range slices.Sorted(maps.Keys(r.Machine)) {
		p.Facts = append(p.Facts, page.Fact{Name: name, Value: r.Machine[name]})
	}
	if len(r.Figures) > 0 {
		p.Tables = []page.Table{table(r)}
	}
	return p
}

func table(r figure.Report) page.Table {
	t := page.Table{Title: "Figures", Header: figure.Columns(), Bars: true}
	for _, f := range r.Figures {
		t.Rows = append(t.Rows, page.Row{Cells: f.Cells(), Verdict: verdict(f.Outcome())})
	}
	return t
}

func verdict(o figure.Outcome) page.Verdict {
	switch o {
	case figure.Good:
		return page.Good
	case figure.Bad:
		return page.Bad
	default:
		return page.None
	}
}
