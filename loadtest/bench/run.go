// Package bench measures the predictor for each row of the table in
// docs/benchmarks.md, in turn with a rival where one is given, by one load
// generator for both. It knows the rival as a command of the shell only.
package bench

import (
	"context"
	"io"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/rows"
)

// runner is one run of the program.
type runner struct {
	settings
	*rows.Book
}

// Run is the program: it returns the exit status.
func Run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	s := defaultSettings(getenv)
	return rows.Program{Name: "bench", Flags: &s.Flags, Settings: &s, Notes: s.notes, Rows: func(book *rows.Book) map[int]rows.Row {
		b := runner{settings: s, Book: book}
		return map[int]rows.Row{1: b.closedLoop, 2: b.arrivals, 3: b.batcherAlone, 4: b.realModel, 5: b.swaps, 6: b.overload}
	}}.Run(ctx, args, stdout, stderr)
}

// sample keeps a measurement and shows it.
func (b *runner) sample(s figure.Sample) {
	b.Keep(s)
	b.Say("row %d round %d  %-14s %-10s %8.1f/s  p50 %.2f ms  p99 %.2f ms  batch %.1f  errors %d", s.Row, s.Round, s.Name, s.Side, s.Throughput, s.P50, s.P99, s.Batch, s.Errors)
}
