package bench

import (
	"context"
	"slices"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/server"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
)

// Row 6: three times what the model can do, by users who wait 100 ms at most.
const (
	overloadFactor   = 3
	overloadDeadline = 100 * time.Millisecond
	overloadCallers  = 16
)

// The names of what row 6 keeps.
const (
	capacityName = "capacity"
	inTimeName   = "in time"
	refusedName  = "refused"
	lateName     = "too late"
)

// overload is row 6: what is answered in time, and how soon the others know.
func (b *runner) overload(ctx context.Context) error {
	for round := range b.Rounds {
		err := b.withStandin(ctx, standin300, func(s *server.Server) error { return b.overloadOnce(ctx, s, round) })
		if err != nil {
			return err
		}
	}
	capacity := b.Median(6, ours, capacityName, figure.Throughput)
	late := b.Median(6, ours, lateName, figure.Throughput)
	b.Add(figure.Figure{Row: 6, Name: "answered in time", Unit: "/s", Ours: b.Median(6, ours, inTimeName, figure.Throughput), Rival: &capacity, Against: capacityName, Bar: figure.AtLeast(0.95)})
	b.Add(figure.Figure{Row: 6, Name: "refusals known after, p99", Unit: "ms", Ours: b.Median(6, ours, refusedName, figure.P99), Against: figure.Absolute, Bar: figure.AtMost(5)})
	b.Add(figure.Figure{Row: 6, Name: "neither answered nor refused in 100 ms", Unit: "/s", Ours: late})
	return nil
}

func (b *runner) overloadOnce(ctx context.Context, s *server.Server, round int) error {
	most, _, err := loaded(ctx, s, standin300, closed(ctx, overloadCallers, b.Window/2))
	if err != nil {
		return err
	}
	a := load.Arrivals{Rate: overloadFactor * most.Throughput, MaxOutstanding: mostInFlight, Seed: uint64(round) + 1, Exact: true}
	got, result, err := loaded(ctx, s, standin300, open(ctx, a, b.Window, overloadDeadline))
	if err != nil {
		return err
	}
	seconds := b.Window.Seconds() // the last answers come after it
	got.Throughput = float64(result.Answered) / seconds
	refused, late := split(result.Faults)
	for _, f := range result.Faults {
		b.Say("row 6 round %d  %d x %s (%s), known after p99 %.2f ms", round+1, f.Count, f.Kind, f.Example, figure.Ms(f.Latency.P99))
	}
	if refused.Count == 0 { // then those who got nothing learned it when their time was over
		refused.Latency.P50, refused.Latency.P99 = overloadDeadline, overloadDeadline
	}
	most.Name, got.Name = capacityName, inTimeName
	for _, v := range []figure.Sample{
		most, got,
		{Name: refusedName, Throughput: float64(refused.Count) / seconds, P50: figure.Ms(refused.Latency.P50), P99: figure.Ms(refused.Latency.P99)},
		{Name: lateName, Throughput: float64(late) / seconds},
	} {
		v.Row, v.Round, v.Side = 6, round+1, ours
		b.sample(v)
	}
	return nil
}

// split tells the server's refusals from what ended at its deadline. Of several
// kinds of refusals, the slowest gives the latency.
func split(faults []measure.FaultCount) (refused measure.FaultCount, late int64) {
	for _, f := range faults {
		if slices.Contains([]string{measure.Timeout, measure.Overrun}, f.Kind) {
			late += f.Count
			continue
		}
		refused.Count += f.Count
		if f.Latency.P99 > refused.Latency.P99 {
			refused.Latency = f.Latency
		}
	}
	return refused, late
}
