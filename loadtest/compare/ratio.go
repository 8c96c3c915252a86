package compare

import (
	"fmt"
	"math"
	"slices"
)

// Ratio is how many times B's value is A's, by rounds in which both were measured
// one after the other.
type Ratio struct {
	// A and B are the medians of each side.
	A, B float64
	// Ratio is the geometric mean of the rounds' ratios.
	Ratio float64
	// Low and High are the ends of its 95 % confidence interval; both 0 when there
	// are fewer than two rounds.
	Low, High float64
}

// Estimate gives the ratio and its interval: Student's t on the logarithms of the
// rounds' ratios. Pairs cancel what changes the machine from minute to minute, and
// a logarithm makes twice as fast and half as fast the same distance. See Georges,
// Buytaert, Eeckhout: Statistically rigorous Java performance evaluation, OOPSLA
// 2007, for the interval, and Kalibera, Jones: Rigorous benchmarking in reasonable
// time, ISMM 2013, for reporting a ratio with one. A bootstrap was not taken: of
// five or ten rounds it gives intervals that are too narrow.
//
// It is false when a value is not above 0: there is no ratio to nothing.
func Estimate(a, b []float64) (Ratio, bool) {
	n := min(len(a), len(b))
	logs := make([]float64, 0, n)
	for i := range n {
		if !(a[i] > 0) || !(b[i] > 0) {
			return Ratio{}, false
		}
		logs = append(logs, math.Log(b[i]/a[i]))
	}
	if n == 0 {
		return Ratio{}, false
	}
	mean, deviation := moments(logs)
	r := Ratio{A: median(a), B: median(b), Ratio: math.Exp(mean)}
	if n > 1 {
		half := quantile95(n-1) * deviation / math.Sqrt(float64(n))
		r.Low, r.High = math.Exp(mean-half), math.Exp(mean+half)
	}
	return r, true
}

// Seen tells whether there is a difference: 1 does not lie in the interval.
func (r Ratio) Seen() bool { return r.Low > 1 || (r.High < 1 && r.High > 0) }

// Verdict is the difference in words, of a measure of which less may be better.
func (r Ratio) Verdict(lessIsBetter bool) string {
	switch {
	case r.High == 0:
		return "one round shows no interval"
	case !r.Seen():
		return "no difference seen"
	case (r.Ratio > 1) != lessIsBetter:
		return fmt.Sprintf("B is better by %.3gx", max(r.Ratio, 1/r.Ratio))
	default:
		return fmt.Sprintf("A is better by %.3gx", max(r.Ratio, 1/r.Ratio))
	}
}

// moments are the mean and the standard deviation of a sample.
func moments(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	for _, v := range values {
		deviation += (v - mean) * (v - mean)
	}
	if len(values) > 1 {
		deviation = math.Sqrt(deviation / float64(len(values)-1))
	}
	return mean, deviation
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile95 is the 97.5 % quantile of Student's t with so many degrees of freedom:
// a 95 % interval lies between its negative and it.
func quantile95(freedom int) float64 {
	table := [...]float64{
		12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
		2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
		2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
	}
	if freedom <= len(table) {
		return table[freedom-1]
	}
	// Abramowitz and Stegun 26.7.5, exact to four digits from here on.
	const z = 1.959964
	v := float64(freedom)
	return z + (z*z*z+z)/(4*v) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*v*v)
}
