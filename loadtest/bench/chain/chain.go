// Package chain measures the whole chain, from the bytes of an image to labels, for
// each row of its table in docs/benchmarks.md: in turn with a rival where one is
// given, with the same stages in one process, with itself, and on a bad day. It knows
// the rival as a command of the shell only.
package chain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"triptych/loadtest/bench/rows"
	"triptych/loadtest/page"
)

// SideArgument is what comes before the folder of a repository and the library of ONNX
// Runtime to make the program the side of row 5 that is one process.
const SideArgument = "side"

// runner is one run of the program.
type runner struct {
	settings
	*rows.Book
	// self is this program, which is the side of row 5 too.
	self string
	// folder holds the repository and the photographs.
	folder string
	images [][]byte
	shared shared
	// runs are shown on the page.
	runs []page.Run
}

// Run is the program: it returns the exit status.
func Run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 3 && args[0] == SideArgument {
		return serveSide(ctx, args[1], args[2], stdin, stdout, stderr)
	}
	s := defaultSettings(getenv)
	b := &runner{}
	status := rows.Program{Name: "bench", Flags: &s.Flags, Settings: &s, Notes: s.notes, Rows: func(book *rows.Book) map[int]rows.Row {
		b.settings, b.Book = s, book
		return b.rows()
	}}.Run(ctx, args, stdout, stderr)
	if err := b.end(args); err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return rows.NotRun
	}
	return status
}

// rows are all there are.
func (b *runner) rows() map[int]rows.Row {
	all := map[int]rows.Row{5: b.inProcess, 6: b.observed, 7: b.overload, 8: b.paused}
	for _, c := range contests() {
		all[c.row] = func(ctx context.Context) error { return b.compare(ctx, c) }
	}
	for number, row := range all {
		all[number] = func(ctx context.Context) error {
			if err := b.prepare(ctx); err != nil {
				return err
			}
			return row(ctx)
		}
	}
	return all
}

// end stops what still runs and writes the page, where there is something to show.
func (b *runner) end(args []string) error {
	err := b.shared.stop()
	if b.folder != "" {
		err = errors.Join(err, os.RemoveAll(b.folder))
	}
	return errors.Join(err, b.Draw("Triptych: the whole chain", "bench-chain", args, b.Book, b.runs))
}

const mib = 1 << 20
