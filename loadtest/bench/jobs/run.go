// Package jobs measures jobs for each row of their table in docs/benchmarks.md:
// their rate beside that of the sync road, what it costs to accept them, and what
// they do to those who wait. All processes are the real ones.
package jobs

import (
	"context"
	"errors"
	"io"
	"os"

	"triptych/loadtest/bench/rows"
)

// runner is one run of the program.
type runner struct {
	settings
	*rows.Book
	// folder holds the repository, and what NATS keeps.
	folder string
	images [][]byte
}

// Run is the program: it returns the exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := defaultSettings()
	folder, err := os.MkdirTemp("", "bench-jobs")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }() // a temporary folder
	}
	return rows.Program{Name: "bench-jobs", Flags: &s.Flags, Settings: &s, Notes: s.notes, Rows: func(book *rows.Book) map[int]rows.Row {
		b := &runner{settings: s, Book: book, folder: folder}
		all := map[int]rows.Row{1: b.throughput, 2: b.accept, 3: b.large, 4: b.beside}
		if err := errors.Join(err, b.prepare()); err != nil {
			for row := range all {
				all[row] = func(context.Context) error { return err }
			}
		}
		return all
	}}.Run(ctx, args, stdout, stderr)
}
