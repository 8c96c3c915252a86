package figure

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Point is one side's medians at one load, for a plot.
type Point struct {
	// Percent is the load as a share of the capacity, Rate in requests a second.
	Percent float64 `json:"percent"`
	Rate    float64 `json:"rate"`
	// Side is "ours" or "rival".
	Side  string  `json:"side"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Batch float64 `json:"batch"`
}

// Report is a whole run.
type Report struct {
	Started time.Time         `json:"started"`
	Machine map[string]string `json:"machine"`
	Notes   []string          `json:"notes"`
	Figures []Figure          `json:"figures"`
	Points  []Point           `json:"points"`
	Samples []Sample          `json:"samples"`
}

// Bad counts the figures that missed their bars.
func (r Report) Bad() int {
	n := 0
	for _, f := range r.Figures {
		if f.Outcome() == Bad {
			n++
		}
	}
	return n
}

// JSON writes the report as one document.
func (r Report) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// Table writes the figures for people.
func (r Report) Table(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tab, strings.Join(Columns(), "\t")+"\t") // Flush tells of errors
	for _, f := range r.Figures {
		_, _ = fmt.Fprintf(tab, "%s\t%s\n", strings.Join(f.Cells(), "\t"), f.Outcome())
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.Join(append([]string{""}, r.Notes...), "\n")+"\n")
	return err
}

// Columns are the heads of what Cells gives.
func Columns() []string { return []string{"row", "what", "ours", "rival", "of", "ratio", "bar"} }

// Cells are a figure as a line of the table, without its outcome.
func (f Figure) Cells() []string {
	return []string{
		strconv.Itoa(f.Row), f.Name, strings.TrimSpace(number(f.Ours) + " " + f.Unit), f.rivalText(), f.Against, f.ratioText(), f.barText(),
	}
}

func (f Figure) rivalText() string {
	if f.Rival == nil {
		return "-"
	}
	return number(*f.Rival)
}

func (f Figure) ratioText() string {
	if f.Rival == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", f.Ratio())
}

func (f Figure) barText() string {
	switch {
	case f.Bar == nil:
		return "-"
	case f.Bar.Most:
		return fmt.Sprintf("<= %g", f.Bar.Limit)
	default:
		return fmt.Sprintf(">= %g", f.Bar.Limit)
	}
}

// number is a value with about four digits.
func number(v float64) string {
	switch {
	case v >= 1000 || v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
