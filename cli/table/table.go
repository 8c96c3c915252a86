// Package table lays text out in columns, whatever the colours of its cells.
package table

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"triptych/cli/style"
)

// Cell is one entry.
type Cell struct {
	Text  string
	Color style.Color
}

// Text is a cell without a colour.
func Text(s string) Cell { return Cell{Text: s} }

// Table is rows under a head.
type Table struct {
	style  style.Style
	head   []string
	rows   [][]Cell
	widths []int
	headed bool
}

// New makes a table with a head.
func New(s style.Style, head ...string) *Table {
	t := &Table{style: s, head: head}
	for _, h := range head {
		t.widths = append(t.widths, utf8.RuneCountInString(h))
	}
	return t
}

// Row adds a row with a cell for each column.
func (t *Table) Row(cells ...Cell) {
	for i, c := range cells {
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c.Text))
	}
	t.rows = append(t.rows, cells)
}

// Rows is how many rows were added since the last Write.
func (t *Table) Rows() int { return len(t.rows) }

// Write writes the rows that were added since the last Write, under the head the
// first time: a table of many rows is written in parts.
func (t *Table) Write(w io.Writer) error {
	if !t.headed {
		t.headed = true
		head := make([]string, len(t.head))
		for i, h := range t.head {
			head[i] = t.style.Bold(h) + t.pad(i, h)
		}
		if err := writeLine(w, head); err != nil {
			return err
		}
	}
	rows := t.rows
	t.rows = nil
	for _, row := range rows {
		line := make([]string, len(row))
		for i, c := range row {
			line[i] = t.style.Paint(c.Color, c.Text) + t.pad(i, c.Text)
		}
		if err := writeLine(w, line); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) pad(column int, text string) string {
	return strings.Repeat(" ", t.widths[column]-utf8.RuneCountInString(text))
}

func writeLine(w io.Writer, cells []string) error {
	_, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "  "), " "))
	return err
}
