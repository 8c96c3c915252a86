// Package bench measures the predictor for each row of the table in
// docs/benchmarks.md, in turn with a rival where one is given, by one load
// generator for both. It knows the rival as a command of the shell only.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"triptych/loadtest/bench/figure"
)

// runner is one run of the program.
type runner struct {
	settings
	report figure.Report
	stderr io.Writer
	log    io.Writer
}

// The exit statuses.
const (
	statusGood   = 0
	statusMissed = 1
	statusNotRun = 2
)

// Run is the program: it returns the exit status.
func Run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	s := defaultSettings(getenv)
	fs := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.SortFlags = false
	s.RegisterFlags(fs)
	err := fs.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return statusGood
	}
	if err == nil {
		err = s.Validate()
	}
	b := runner{settings: s, stderr: stderr}
	if err == nil {
		err = b.measure(ctx, stdout)
	}
	switch {
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return statusNotRun
	case s.strict && b.report.Bad() > 0:
		return statusMissed
	default:
		return statusGood
	}
}

// measure takes all rows and writes what was found, even when a row can't be
// taken.
func (b *runner) measure(ctx context.Context, stdout io.Writer) (err error) {
	if err := os.MkdirAll(filepath.Dir(b.output), 0o755); err != nil {
		return fmt.Errorf("make a folder for --output: %w", err)
	}
	log, err := os.Create(b.output + ".log")
	if err != nil {
		return fmt.Errorf("write the servers' log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	b.log = log
	b.report = figure.Report{Started: time.Now().UTC(), Machine: machine(), Notes: b.notes()}
	rows := map[int]func(context.Context) error{1: b.closedLoop, 2: b.arrivals, 3: b.batcherAlone, 4: b.realModel, 5: b.swaps, 6: b.overload}
	var errs []error
	for row := 1; row <= allRows; row++ {
		if b.has(row) && ctx.Err() == nil {
			if err := rows[row](ctx); err != nil {
				errs = append(errs, fmt.Errorf("row %d: %w", row, err))
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(append(errs, err)...)
	}
	return errors.Join(append(errs, b.report.Table(stdout), b.save())...)
}

func (b *runner) save() error {
	file, err := os.Create(b.output)
	if err != nil {
		return fmt.Errorf("write --output: %w", err)
	}
	return errors.Join(b.report.JSON(file), file.Close())
}

// machine says what the figures are worth.
func machine() map[string]string {
	return map[string]string{"cores": strconv.Itoa(runtime.NumCPU()), "system": runtime.GOOS + "/" + runtime.GOARCH, "go": runtime.Version()}
}

// say tells of the progress.
func (b *runner) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.stderr, "%s  "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// sample keeps a measurement and shows it.
func (b *runner) sample(s figure.Sample) {
	b.report.Samples = append(b.report.Samples, s)
	b.say("row %d round %d  %-14s %-10s %8.1f/s  p50 %.2f ms  p99 %.2f ms  batch %.1f  errors %d", s.Row, s.Round, s.Name, s.Side, s.Throughput, s.P50, s.P99, s.Batch, s.Errors)
}

// of finds what was measured of a side in a row, as one of its numbers.
func (b *runner) of(row int, side, name string, number func(figure.Sample) float64) []float64 {
	var values []float64
	for _, s := range b.report.Samples {
		if s.Row == row && s.Side == side && s.Name == name {
			values = append(values, number(s))
		}
	}
	return values
}

func (b *runner) median(row int, side, name string, number func(figure.Sample) float64) float64 {
	return figure.Median(b.of(row, side, name, number)...)
}

func (b *runner) add(f figure.Figure) { b.report.Figures = append(b.report.Figures, f) }

// The numbers of a sample.
func throughput(s figure.Sample) float64 { return s.Throughput }
func p50(s figure.Sample) float64        { return s.P50 }
func p99(s figure.Sample) float64        { return s.P99 }
func value(s figure.Sample) float64      { return s.Value }
func batch(s figure.Sample) float64      { return s.Batch }
