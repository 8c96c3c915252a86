package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"triptych/loadtest/compare"
	"triptych/loadtest/stage"
)

// Comparison is two targets measured in turn.
type Comparison struct {
	Started time.Time
	// Requests are what A and B were sent.
	Requests [2]string
	// Load is each turn's, in words.
	Load        string
	Rounds      []compare.Round
	Differences []compare.Difference
	// ErrorsExcused is set when the command line excuses requests that fail.
	ErrorsExcused bool
	Interrupted   bool
}

// Errors is how many requests failed, on both sides.
func (c Comparison) Errors() int64 {
	var n int64
	for _, round := range c.Rounds {
		n += round.Results[0].Result.Errors + round.Results[1].Result.Errors
	}
	return n
}

// Passed tells whether there is a comparison, without errors that are not excused.
func (c Comparison) Passed() bool {
	return len(c.Differences) > 0 && (c.ErrorsExcused || c.Errors() == 0)
}

// TurnText is a turn in a line.
func TurnText(round, side int, r stage.Result) string {
	line := fmt.Sprintf("round %-2d %s %8.1f/s  p50 %-8s p99 %-8s %s", round+1, compare.SideName(side), r.Result.Throughput(), p50(r.Result.Latency), p99(r.Result.Latency), errorsText(r.Result))
	if r.Warmup.Note != "" {
		line += "  (" + r.Warmup.Note + ")"
	}
	return line
}

// Text writes the report for people. The turns were told as they happened.
func (c Comparison) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nA  %s\nB  %s\n%s, %d rounds%s\n\n", c.Requests[0], c.Requests[1], c.Load, len(c.Rounds), early(c.Interrupted))
	fmt.Fprintf(&b, "%-11s %12s %12s %9s  %-18s\n", "", "A", "B", "B/A", "95 % interval")
	for _, d := range c.Differences {
		fmt.Fprintf(&b, "%-11s %12s %12s %8.3fx  %-18s  %s\n", d.Measure, value(d.A, d.Unit), value(d.B, d.Unit), d.Ratio.Ratio, interval(d.Ratio), d.Verdict(d.LessIsBetter))
	}
	if note := c.footnote(); note != "" {
		b.WriteString(note + "\n")
	}
	for side := range c.Requests {
		c.faultsOf(&b, side)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// faultsOf are a side's errors, those of all rounds.
func (c Comparison) faultsOf(b *strings.Builder, side int) {
	for n, round := range c.Rounds {
		for _, f := range round.Results[side].Result.Faults {
			fmt.Fprintf(b, "%s, round %d: %d times %s: %s\n", compare.SideName(side), n+1, f.Count, f.Kind, f.Example)
		}
	}
}

func value(v float64, unit string) string {
	if unit == "ms" {
		return ms(time.Duration(v * float64(time.Millisecond)))
	}
	return fmt.Sprintf("%.1f%s", v, unit)
}

func interval(r compare.Ratio) string {
	if r.High == 0 {
		return "none"
	}
	return fmt.Sprintf("%.3f to %.3f", r.Low, r.High)
}

type roundJSON struct {
	First string    `json:"first"`
	A     stageJSON `json:"a"`
	B     stageJSON `json:"b"`
}

type differenceJSON struct {
	Measure string  `json:"measure"`
	Unit    string  `json:"unit"`
	A       float64 `json:"a"`
	B       float64 `json:"b"`
	Ratio   float64 `json:"b_by_a"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Seen    bool    `json:"difference_seen"`
	Verdict string  `json:"verdict"`
}

type comparisonJSON struct {
	Started     time.Time        `json:"started"`
	A           string           `json:"a"`
	B           string           `json:"b"`
	Load        string           `json:"load"`
	Interrupted bool             `json:"interrupted"`
	Differences []differenceJSON `json:"differences"`
	Rounds      []roundJSON      `json:"rounds"`
}

// JSON writes the report as one document.
func (c Comparison) JSON(w io.Writer) error {
	d := comparisonJSON{Started: c.Started.UTC(), A: c.Requests[0], B: c.Requests[1], Load: c.Load, Interrupted: c.Interrupted}
	for _, x := range c.Differences {
		d.Differences = append(d.Differences, differenceJSON{x.Measure, x.Unit, x.A, x.B, x.Ratio.Ratio, x.Low, x.High, x.Seen(), x.Verdict(x.LessIsBetter)})
	}
	for _, round := range c.Rounds {
		d.Rounds = append(d.Rounds, roundJSON{compare.SideName(round.First), stageDocument(round.Results[0]), stageDocument(round.Results[1])})
	}
	return encode(w, d)
}
