package workload

import (
	"context"
	"math"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
)

// Phase is one stretch of a workload: a load.Target that has each sort recorded on
// its own too. Use it for one load.
type Phase struct {
	workload  *Workload
	recorders [][]*measure.Recorder // by sort
	whole     int                   // how many of each belong to others
}

var _ load.Sorter = (*Phase)(nil)

// PhaseItems is how many items a Phase has for a load.Plan: each request has a
// number of its own.
const PhaseItems = math.MaxInt

// Phase begins one. Its requests are recorded by the given recorders too.
func (w *Workload) Phase(also ...*measure.Recorder) *Phase {
	p := &Phase{workload: w, whole: len(also)}
	for range w.sorts {
		list := also[:len(also):len(also)]
		if len(w.sorts) > 1 {
			list = append(list, measure.NewRecorderOn(nil)) // a Part has no timeline
		}
		p.recorders = append(p.recorders, list)
	}
	return p
}

// Do sends request n, with the image that is the next of its sort.
func (p *Phase) Do(ctx context.Context, n int) (measure.Answer, error) {
	s := p.workload.sorts[p.workload.choose(n)]
	return s.target.Do(ctx, int((s.next.Add(1)-1)%int64(s.items)))
}

// Sort implements load.Sorter.
func (p *Phase) Sort(n int) (also []*measure.Recorder, deadline time.Duration) {
	i := p.workload.choose(n)
	return p.recorders[i], p.workload.sorts[i].spec.Deadline
}

// Part is what came of one sort.
type Part struct {
	Name   string
	Weight float64
	Result measure.Result
}

// Parts are the results by sort; none where there is only one.
func (p *Phase) Parts() []Part {
	var parts []Part
	for i, s := range p.workload.sorts {
		if mine := p.recorders[i][p.whole:]; len(mine) > 0 {
			parts = append(parts, Part{s.spec.Label(), s.spec.Weight, mine[0].Result()})
		}
	}
	return parts
}

// choose gives the sort of request n, always the same for the same seed.
func (w *Workload) choose(n int) int {
	if len(w.sorts) == 1 {
		return 0
	}
	// The upper 53 bits make a number from 0 to 1.
	at := float64(mix(w.seed+uint64(n)*0x9e3779b97f4a7c15)>>11) / (1 << 53)
	for i, end := range w.ends {
		if at < end {
			return i
		}
	}
	return len(w.sorts) - 1 // the ends' sum may be a little below 1
}

// mix is the output function of SplitMix64 (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, OOPSLA 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
