// Package images measures preprocess for each row of its table in
// docs/benchmarks.md, in turn with Pillow on the same core. Before anything is
// measured, both sides must have made the same pixels.
package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"triptych/loadtest/bench/images/ours"
	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/turns"
)

// SideArgument makes the program our own side of the turns.
const SideArgument = "side"

// runner is one run of the program.
type runner struct {
	settings
	*rows.Book
	// self is this program, which is our side too.
	self string
	// folder holds the photographs.
	folder string
}

// Run is the program: it returns the exit status.
func Run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == SideArgument {
		if err := turns.Serve(stdin, stdout, ours.Prepare); err != nil {
			_, _ = fmt.Fprintln(stderr, "bench-preprocess:", err)
			return rows.NotRun
		}
		return rows.Good
	}
	s := defaultSettings(getenv)
	folder, err := os.MkdirTemp("", "bench-preprocess")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }() // a temporary folder
	}
	return rows.Program{Name: "bench-preprocess", Flags: &s.Flags, Settings: &s, Notes: s.notes, Rows: func(book *rows.Book) map[int]rows.Row {
		self, missing := os.Executable()
		b := &runner{settings: s, Book: book, self: self, folder: folder}
		all := map[int]rows.Row{1: b.small, 2: b.large, 3: b.scaled, 4: b.resizeAlone, 5: b.service, 6: b.memory, 7: b.allocations, 8: b.allSamples}
		if err := errors.Join(err, missing); err != nil {
			for row := range all {
				all[row] = func(context.Context) error { return err }
			}
		}
		return all
	}}.Run(ctx, args, stdout, stderr)
}

// The photographs, in the names of which is their size.
const (
	small  = "500x375"
	medium = "1280x960"
	large  = "4000x3000"
	// sent has about 120 kB.
	sent = "600x450"
)

// photographs gives the paths of some of a size, and makes those that are missing.
func (b *runner) photographs(size string, count int) ([]string, error) {
	files := make([]string, count)
	for i := range files {
		files[i] = filepath.Join(b.folder, fmt.Sprintf("%s-%d.jpg", size, i))
		if _, err := os.Stat(files[i]); err == nil {
			continue
		}
		if err := takePhotograph(files[i], size, uint32(i)+1); err != nil {
			return nil, err
		}
	}
	return files, nil
}
