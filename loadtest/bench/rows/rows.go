// Package rows is the frame of a benchmark: it reads the flags, takes one row of
// the table after the other, and shows and keeps what was found, even when a row
// can't be taken. It measures nothing.
package rows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"triptych/loadtest/bench/figure"
	"triptych/shared/config"
)

// The exit statuses.
const (
	Good   = 0
	Missed = 1
	NotRun = 2
)

// Row takes one row of the table.
type Row func(context.Context) error

// Program is a benchmark.
type Program struct {
	// Name is what messages begin with.
	Name string
	// Flags are those of Settings that every benchmark has.
	Flags    *Flags
	Settings config.Section
	// Notes tell the reader of the figures what they were taken with.
	Notes func() []string
	// Rows are all there are, by number.
	Rows func(*Book) map[int]Row
}

// Run is the program: it returns the exit status.
func (p Program) Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.SortFlags = false
	p.Settings.RegisterFlags(fs)
	err := fs.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return Good
	}
	if err == nil {
		err = p.Settings.Validate()
	}
	book := NewBook(io.Discard, stderr)
	if err == nil {
		err = p.measure(ctx, book, stdout)
	}
	switch {
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return NotRun
	case p.Flags.Strict && book.Report.Bad() > 0:
		return Missed
	default:
		return Good
	}
}

// measure takes all rows that are wanted.
func (p Program) measure(ctx context.Context, book *Book, stdout io.Writer) (err error) {
	output := p.Flags.Output
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return fmt.Errorf("make a folder for --output: %w", err)
	}
	log, err := os.Create(output + ".log")
	if err != nil {
		return fmt.Errorf("write the servers' log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	book.Log = log
	book.Report = figure.Report{Started: time.Now().UTC(), Machine: machine(), Notes: p.Notes()}
	rows := p.Rows(book)
	var errs []error
	for row := 1; row <= p.Flags.Last; row++ {
		if slices.Contains(p.Flags.Rows, row) && ctx.Err() == nil {
			if err := rows[row](ctx); err != nil {
				errs = append(errs, fmt.Errorf("row %d: %w", row, err))
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(append(errs, err)...)
	}
	return errors.Join(append(errs, book.Report.Table(stdout), book.save(output))...)
}

// machine says what the figures are worth.
func machine() map[string]string {
	return map[string]string{"cores": strconv.Itoa(runtime.NumCPU()), "system": runtime.GOOS + "/" + runtime.GOARCH, "go": runtime.Version()}
}
