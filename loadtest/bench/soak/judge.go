package soak

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/measure"
)

// fates are the requests that were not answered well, by what became of them.
type fates struct{ wrong, unanswered, refused, away, other int64 }

func fatesOf(faults []measure.FaultCount) fates {
	var f fates
	for _, fault := range faults {
		of := &f.other
		switch {
		case slices.Contains([]string{measure.WrongAnswer, measure.BadAnswer}, fault.Kind):
			of = &f.wrong
		case slices.Contains([]string{measure.Timeout, measure.Overrun, measure.Connection}, fault.Kind):
			of = &f.unanswered
		case strings.HasPrefix(fault.Kind, "gRPC RESOURCE_EXHAUSTED"):
			of = &f.refused
		case strings.HasPrefix(fault.Kind, "gRPC UNAVAILABLE"):
			of = &f.away
		}
		*of += fault.Count
	}
	return f
}

// judge accounts for all requests.
func (b *runner) judge(r measure.Result, m *mixture, did done) {
	f := fatesOf(r.Faults)
	unsent := int64(0)
	for _, fault := range r.Faults {
		if fault.Kind == measure.Overrun {
			unsent = fault.Count
		}
	}
	unaccounted := math.Abs(float64(m.sent.Load()+unsent-r.Answered-r.Errors)) + float64(r.InFlight)
	b.figure("soak: requests sent", "", float64(m.sent.Load()), nil)
	b.figure("soak: answered, bad images among them", "", float64(r.Answered), nil)
	b.figure("soak: bad images rejected", "", float64(m.rejected.Load()), nil)
	b.figure("soak: failed with 503, a stage was away", "", float64(f.away), nil)
	b.figure("soak: refused with 429", "", float64(f.refused), nil)
	b.figure("soak: failed otherwise", "", float64(f.other), figure.AtMost(0))
	b.figure("soak: wrong answers", "", float64(f.wrong), figure.AtMost(0))
	b.figure("soak: unanswered or unaccounted", "", float64(f.unanswered)+unaccounted, figure.AtMost(0))
	b.figure("soak: swaps of a version", "", float64(did.swaps), figure.AtLeast(float64(b.swaps)))
	b.figure("soak: stages killed", "", float64(did.kills), figure.AtLeast(float64(b.kills)))
	if len(did.back) > 0 {
		b.figure("soak: answers again after a kill, median", "s", figure.Median(did.back...), nil)
	}
	b.figure("soak: p50", "ms", figure.Ms(r.Latency.P50), nil)
	b.figure("soak: p99", "ms", figure.Ms(r.Latency.P99), nil)
}

// growth is what memory and goroutines may have at the end, of what they had early.
const growth = 1.05

// judgeUse compares what the processes held around a time and at the end.
func (b *runner) judgeUse(w *watch, middle, end time.Time) error {
	minute := b.minute()
	for _, what := range []struct {
		name, unit string
		number     func(look) float64
	}{{"memory", "MiB", func(l look) float64 { return l.memory }}, {"goroutines", "", func(l look) float64 { return l.goroutines }}} {
		for _, service := range b.stack.Services {
			early := w.median(service.Name, middle.Add(-minute/2), middle.Add(minute/2), what.number)
			late := w.median(service.Name, end.Add(-minute), end, what.number)
			if math.IsNaN(early) || math.IsNaN(late) {
				return fmt.Errorf("%s was not seen at the times that are compared", service.Name)
			}
			b.Add(figure.Figure{
				Row: row, Name: fmt.Sprintf("soak: %s of %s at the end", what.name, service.Name), Unit: what.unit,
				Ours: late, Rival: &early, Against: fmt.Sprintf("after %s", b.duration/earlyPart), Bar: figure.AtMost(growth),
			})
		}
	}
	return nil
}
