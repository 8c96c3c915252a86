package rows

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"triptych/loadtest/bench/figure"
)

// Book keeps what one run finds. But for Say it is not for concurrent use.
type Book struct {
	Report figure.Report
	// Log is where what servers say goes.
	Log    io.Writer
	mu     sync.Mutex // for stderr
	stderr io.Writer
}

// NewBook makes an empty one. Progress goes to progress.
func NewBook(log, progress io.Writer) *Book { return &Book{Log: log, stderr: progress} }

// Say tells of the progress.
func (b *Book) Say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = fmt.Fprintf(b.stderr, "%s  "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// Keep keeps a measurement.
func (b *Book) Keep(s figure.Sample) { b.Report.Samples = append(b.Report.Samples, s) }

// Add adds a line to the table.
func (b *Book) Add(f figure.Figure) { b.Report.Figures = append(b.Report.Figures, f) }

// Of finds what was measured of a side in a row, as one of its numbers.
func (b *Book) Of(row int, side, name string, number func(figure.Sample) float64) []float64 {
	var values []float64
	for _, s := range b.Report.Samples {
		if s.Row == row && s.Side == side && s.Name == name {
			values = append(values, number(s))
		}
	}
	return values
}

// Median is that of what Of finds.
func (b *Book) Median(row int, side, name string, number func(figure.Sample) float64) float64 {
	return figure.Median(b.Of(row, side, name, number)...)
}

func (b *Book) save(output string) error {
	file, err := os.Create(output)
	if err != nil {
		return fmt.Errorf("write --output: %w", err)
	}
	return errors.Join(b.Report.JSON(file), file.Close())
}
