// Package figure holds what a benchmark found: medians, the bars that they are
// held against, and the forms in which they are shown. It measures nothing.
package figure

import (
	"math"
	"slices"
)

// Median is the middle value, the mean of the two in the middle, or NaN of none.
func Median(values ...float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Figure is one line of the table. Rival and Bar are nil when there is none.
type Figure struct {
	Row   int      `json:"row"`
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	Ours  float64  `json:"ours"`
	Rival *float64 `json:"rival,omitempty"`
	// Paired is the median of the ratios of neighbouring turns. Where there is one
	// it is the ratio: other work on the machine spoils both turns of a pair alike.
	Paired float64 `json:"paired_ratio,omitempty"`
	// Against says which of the rival's settings, or what else, Rival is.
	Against string `json:"against,omitempty"`
	Bar     *Bar   `json:"bar,omitempty"`
}

// Bar is what a ratio must reach, or a value where there is no rival.
type Bar struct {
	Limit float64 `json:"limit"`
	// Most makes the limit an upper one.
	Most bool `json:"most"`
}

// AtLeast is a lower bar.
func AtLeast(limit float64) *Bar { return &Bar{Limit: limit} }

// AtMost is an upper bar.
func AtMost(limit float64) *Bar { return &Bar{Limit: limit, Most: true} }

// Ratio is ours by the rival's, or NaN.
func (f Figure) Ratio() float64 {
	switch {
	case f.Rival == nil:
		return math.NaN()
	case f.Paired != 0:
		return f.Paired
	default:
		return f.Ours / *f.Rival
	}
}

// Outcome is how a figure stands to its bar.
type Outcome string

// The outcomes. Open is a figure without a bar, or without the rival that it
// would be held against.
const (
	Good Outcome = "good"
	Bad  Outcome = "BAD"
	Open Outcome = ""
)

// Absolute marks a bar as one for the value itself.
const Absolute = "itself"

// Outcome compares a figure with its bar: the ratio, or the value when Against is
// Absolute.
func (f Figure) Outcome() Outcome {
	value := f.Ratio()
	if f.Against == Absolute {
		value = f.Ours
	}
	switch {
	case f.Bar == nil || f.Against != Absolute && f.Rival == nil:
		return Open
	case f.Bar.Most && value <= f.Bar.Limit, !f.Bar.Most && value >= f.Bar.Limit:
		return Good
	default:
		return Bad
	}
}
