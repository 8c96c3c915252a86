// Package waterfall draws a trace in a terminal: a line for each span, indented
// under its parent, with a bar where in time it lay.
package waterfall

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"triptych/cli/style"
	"triptych/cli/traces"
)

// Widths of the columns, in characters. The bar has what the others leave of the
// line, between two bounds.
const (
	nameWidth    = 46
	serviceWidth = 12
	timeWidth    = 11
	leastBar     = 12
	mostBar      = 40
)

// row is one span where it stands in the tree.
type row struct {
	span  traces.Span
	depth int
}

// Write draws a trace in lines of so many columns. A span whose parent is not
// there is drawn as a root.
func Write(w io.Writer, t traces.Trace, s style.Style, columns int) error {
	rows := tree(t)
	if len(rows) == 0 {
		return nil
	}
	start, end := bounds(rows)
	head := fmt.Sprintf("trace %s   %d spans, %d services, %s", t.TraceID, len(t.Spans), len(t.Processes), millis(end-start))
	if _, err := fmt.Fprintln(w, s.Bold(head)); err != nil {
		return err
	}
	colors := serviceColors(t)
	names := longest(rows)
	width := min(max(columns-names-serviceWidth-timeWidth-3, leastBar), mostBar)
	for _, r := range rows {
		service := t.Service(r.span)
		line := fmt.Sprintf("%s %s %s %s",
			fit(r.name(), names),
			s.Paint(colors[service], fit(service, serviceWidth)),
			s.Paint(colors[service], bar(r.span, start, end, width)),
			millis(r.span.Duration))
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// tree puts the spans in the order of a walk from the roots, children by their
// start.
func tree(t traces.Trace) []row {
	children := map[string][]traces.Span{}
	there := map[string]bool{}
	for _, span := range t.Spans {
		there[span.SpanID] = true
	}
	for _, span := range t.Spans {
		parent := span.Parent()
		if !there[parent] {
			parent = ""
		}
		children[parent] = append(children[parent], span)
	}
	var rows []row
	var walk func(parent string, depth int)
	walk = func(parent string, depth int) {
		spans := children[parent]
		delete(children, parent) // a trace that is its own ancestor ends here
		slices.SortStableFunc(spans, func(a, b traces.Span) int {
			return cmp.Or(cmp.Compare(a.StartTime, b.StartTime), cmp.Compare(b.Duration, a.Duration))
		})
		for _, span := range spans {
			rows = append(rows, row{span, depth})
			walk(span.SpanID, depth+1)
		}
	}
	walk("", 0)
	return rows
}

func bounds(rows []row) (start, end int64) {
	start = rows[0].span.StartTime
	for _, r := range rows {
		start = min(start, r.span.StartTime)
		end = max(end, r.span.StartTime+r.span.Duration)
	}
	return start, end
}

// bar marks when the span ran, at least one character.
func bar(span traces.Span, start, end int64, width int) string {
	total := float64(max(end-start, 1))
	from := min(width-1, int(float64(span.StartTime-start)/total*float64(width)))
	to := min(width, int(float64(span.StartTime+span.Duration-start)/total*float64(width)))
	to = max(to, from+1)
	return strings.Repeat(" ", from) + strings.Repeat("█", to-from) + strings.Repeat(" ", width-to)
}

// name is the span's label, indented by its depth.
func (r row) name() string { return strings.Repeat("  ", r.depth) + label(r.span) }

// longest is how wide the column of the names must be, within its bound.
func longest(rows []row) int {
	most := 0
	for _, r := range rows {
		most = max(most, utf8.RuneCountInString(r.name()))
	}
	return min(most, nameWidth)
}

// label is the span's name; of a call, the method without its package.
func label(span traces.Span) string {
	if i := strings.LastIndex(span.OperationName, "."); i >= 0 && strings.Contains(span.OperationName[i:], "/") {
		return span.OperationName[i+1:]
	}
	return span.OperationName
}

func fit(text string, width int) string {
	n := utf8.RuneCountInString(text)
	if n > width {
		return string([]rune(text)[:width-1]) + "…"
	}
	return text + strings.Repeat(" ", width-n)
}

func millis(micros int64) string { return fmt.Sprintf("%8.2f ms", float64(micros)/1000) }

func serviceColors(t traces.Trace) map[string]style.Color {
	palette := []style.Color{style.Cyan, style.Green, style.Yellow, style.Magenta, style.Blue}
	names := make([]string, 0, len(t.Processes))
	for _, p := range t.Processes {
		names = append(names, p.ServiceName)
	}
	slices.Sort(names)
	colors := map[string]style.Color{}
	for i, name := range slices.Compact(names) {
		colors[name] = palette[i%len(palette)]
	}
	return colors
}
