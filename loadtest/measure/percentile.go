package measure

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxFilled bounds the values that one stall is corrected by.
const maxFilled = 10_000

// Percentile is the latency of good answers that so many percent don't exceed.
// Percent is from 0 to 100. It is 0 when there are none.
func (r *Recorder) Percentile(percent float64) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latency.at(percent)
}

// at is the value that so many percent don't exceed.
func (d *distribution) at(percent float64) time.Duration {
	if d.histogram.TotalCount() == 0 {
		return 0
	}
	return d.within(d.histogram.ValueAtPercentile(percent))
}

// within is a value of the histogram as a time. A bucket's upper end may lie above
// the greatest value.
func (d *distribution) within(value int64) time.Duration {
	return min(max(time.Duration(value)*unit, d.least), d.most)
}

// Corrected is the latency as it would be if each caller of a closed loop had kept
// its rhythm while the server stalled: for each latency above the interval the
// requests are added that the caller would have sent meanwhile, one each interval,
// with the wait that each would have had. This is HdrHistogram's correction for
// coordinated omission, with the median as the expected interval, for a caller of
// a closed loop sends as often as it is answered.
func (r *Recorder) Corrected() Spread {
	r.mu.Lock()
	bars, interval := r.latency.histogram.Distribution(), int64(r.latency.at(50)/unit)
	corrected := distribution{least: r.latency.least, most: r.latency.most}
	r.mu.Unlock()
	if interval < 1 {
		return Spread{}
	}
	corrected.histogram = hdrhistogram.New(1, longest, digits)
	var weighted, count float64
	for _, bar := range bars {
		if bar.Count == 0 {
			continue
		}
		fill(bar.To, interval, bar.Count, func(value, n int64) {
			_ = corrected.histogram.RecordValues(min(value, longest), n) // within the bounds
			weighted += float64(value) * float64(n)
			count += float64(n)
		})
	}
	spread := corrected.spread()
	spread.Mean = time.Duration(weighted / count * float64(unit))
	return spread
}

// fill gives a value that came so often, and those that it hid.
func fill(value, interval, count int64, add func(value, n int64)) {
	add(value, count)
	// A stall of many intervals is filled in larger steps, with as many in each.
	each := max(1, value/interval/maxFilled)
	for missing := value - interval; missing >= interval; missing -= interval * each {
		add(missing, count*each)
	}
}
