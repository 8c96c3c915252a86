// Package steady tells when a server under load has warmed up: when its windows
// of throughput and latency no longer drift. It does not judge how fast it is.
//
// The rule is MSER (K. P. White Jr.: An effective truncation heuristic for bias
// reduction in simulation output, Simulation 69(6), 1997) over windows, which are
// the batch means of its form MSER-5: of all places at which the series could be
// cut, take the one that leaves the smallest standard error of the mean of what
// follows. A series is warm when that place lies in its first half (White, Cobb,
// Spratt: A comparison of five steady-state truncation heuristics for simulation,
// WSC 2000). MSER is blind to what grows ever faster, whose beginning looks calm: so
// the second half must also be without a strong trend (Mann's tau, Econometrica 13,
// 1945). A drift that nobody would care for is none: what lies within 5 % in
// the whole second half is warm too.
//
// The rule of perf_analyzer, three windows within 10 %, was not taken: an open loop
// that sends at random times differs by more than that from second to second for
// ever, and a slow drift of 3 % a window passes it.
package steady

import (
	"cmp"
	"math"
	"slices"
)

const (
	// Windows is the least number of windows that can be judged.
	Windows = 12
	// drift is how far windows of the second half may lie apart to be the same.
	drift = 1.05
	// trend is the tau from which on a series has a trend.
	trend = 0.7
	// tail is the least number of windows that a mean is taken of: few are alike by
	// chance.
	tail = 5
)

// Detector collects windows. It is not safe for concurrent use.
type Detector struct {
	throughput, latency []float64
}

// Add adds a window: answers a second, and their mean latency.
func (d *Detector) Add(throughput, latency float64) {
	d.throughput = append(d.throughput, throughput)
	d.latency = append(d.latency, latency)
}

// Steady tells whether both series are warm.
func (d *Detector) Steady() bool { return warm(d.throughput) && warm(d.latency) }

// Missing names what still drifts; empty when nothing does.
func (d *Detector) Missing() string {
	throughput, latency := warm(d.throughput), warm(d.latency)
	switch {
	case len(d.throughput) < Windows:
		return "there were too few answers to judge"
	case !throughput && !latency:
		return "throughput and latency still drifted"
	case !throughput:
		return "throughput still drifted"
	case !latency:
		return "latency still drifted"
	default:
		return ""
	}
}

// warm judges one series.
func warm(series []float64) bool {
	if len(series) < Windows {
		return false
	}
	half := len(series) / 2
	recent := series[half:]
	if slices.Max(recent) <= slices.Min(recent)*drift {
		return true
	}
	return cut(series) <= half && math.Abs(tau(recent)) < trend
}

// tau is by how many more pairs rise than fall, as a part of all: 1 for a series
// that only rises.
func tau(series []float64) float64 {
	rising := 0
	for i, v := range series {
		for _, later := range series[i+1:] {
			rising += cmp.Compare(later, v)
		}
	}
	return 2 * float64(rising) / float64(len(series)*(len(series)-1))
}

// cut is where MSER cuts the series: how many windows belong to the warm-up.
func cut(series []float64) int {
	best, place := 0.0, 0
	for d := 0; d <= len(series)-tail; d++ {
		if e := squaredError(series[d:]); d == 0 || e < best {
			best, place = e, d
		}
	}
	return place
}

// squaredError is the squared standard error of the mean, as MSER has it.
func squaredError(series []float64) float64 {
	n := float64(len(series))
	var sum, squares float64
	for _, v := range series {
		sum += v
	}
	for _, v := range series {
		squares += (v - sum/n) * (v - sum/n)
	}
	return squares / (n * n)
}
