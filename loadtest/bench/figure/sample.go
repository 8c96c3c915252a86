package figure

import (
	"time"

	"triptych/loadtest/measure"
)

// Sample is one measurement as it was taken.
type Sample struct {
	Row        int     `json:"row"`
	Round      int     `json:"round"`
	Side       string  `json:"side"`
	Name       string  `json:"name"`
	Throughput float64 `json:"throughput_per_s,omitempty"`
	P50        float64 `json:"p50_ms,omitempty"`
	P99        float64 `json:"p99_ms,omitempty"`
	Batch      float64 `json:"batch,omitempty"`
	Errors     int64   `json:"errors,omitempty"`
	// Value is what has no better field: Name says what it is.
	Value float64 `json:"value,omitempty"`
	// Generator is how many cores the load generator kept busy, where it is ours.
	Generator float64 `json:"generator_cores,omitempty"`
}

// SampleOf is what a load came to. What of, and beside what, the caller says.
func SampleOf(r measure.Result) Sample {
	return Sample{Throughput: r.Throughput(), P50: Ms(r.Latency.P50), P99: Ms(r.Latency.P99), Errors: r.Errors}
}

// Ms is a time in milliseconds, as samples have it.
func Ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Throughput is that of a sample, by which many are put side by side.
func Throughput(s Sample) float64 { return s.Throughput }

// P50 is that of a sample.
func P50(s Sample) float64 { return s.P50 }

// P99 is that of a sample.
func P99(s Sample) float64 { return s.P99 }

// Value is that of a sample.
func Value(s Sample) float64 { return s.Value }

// Batch is that of a sample.
func Batch(s Sample) float64 { return s.Batch }
