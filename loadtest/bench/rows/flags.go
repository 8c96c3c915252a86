package rows

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Flags are what every benchmark has.
type Flags struct {
	// Rows are those that are taken, of 1 to Last.
	Rows   []int
	Rounds int
	Window time.Duration
	Output string
	Strict bool

	// Last is the last row of the table.
	Last int
	// Shortest is the shortest window that says anything.
	Shortest time.Duration
}

// RegisterFlags registers what comes before a benchmark's own flags.
func (f *Flags) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntSliceVar(&f.Rows, "rows", f.Rows, "What is measured: rows of the table in docs/benchmarks.md.")
	fs.IntVar(&f.Rounds, "rounds", f.Rounds, "How often each side is measured, in turn. The medians count.")
	fs.DurationVar(&f.Window, "window", f.Window, "How long one measurement takes.")
}

// RegisterOutput registers what comes after them.
func (f *Flags) RegisterOutput(fs *pflag.FlagSet) {
	fs.StringVar(&f.Output, "output", f.Output, "File for all figures as JSON. The servers' logs lie beside it.")
	fs.BoolVar(&f.Strict, "strict", f.Strict, "End with status 1 when a bar is missed.")
}

// Validate checks them.
func (f *Flags) Validate() error {
	for _, row := range f.Rows {
		if row < 1 || row > f.Last {
			return config.Wrong("rows", "has %d, must be from 1 to %d", row, f.Last)
		}
	}
	switch {
	case f.Rounds < 1:
		return config.Wrong("rounds", "is %d, must be 1 or more", f.Rounds)
	case f.Window < f.Shortest:
		return config.Wrong("window", "is %s, must be %s or more", f.Window, f.Shortest)
	default:
		return nil
	}
}

// Has tells whether a row is taken.
func (f *Flags) Has(row int) bool { return slices.Contains(f.Rows, row) }
