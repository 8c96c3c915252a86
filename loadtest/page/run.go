package page

import (
	"slices"
	"strconv"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/page/chart"
	"triptych/loadtest/page/svg"
)

// runView is a run as the template takes it.
type runView struct {
	ID, Name, Target, Load string
	Cards                  []cards
	Notes                  []string
	Thresholds             *Table
	// First are tables above the charts.
	First   []Table
	Figures []*figure
	Tables  []Table
}

// cards are the numbers that stand out of the run, or of one of its stages.
type cards struct {
	Name, Load string
	Tiles      []tile
}

// tile is a number that stands out.
type tile struct {
	Name, Value, Note string
	Verdict           Verdict
}

// maxModels bounds the charts of batch sizes of one run.
const maxModels = 8

func (f *figures) run(r *Run, n int) (runView, error) {
	v := runView{
		ID: "run" + strconv.Itoa(n+1), Name: r.Name, Target: r.Target, Load: r.Load,
		Cards: r.cards(), Notes: r.Notes, Thresholds: thresholdTable(r.Thresholds), Tables: runTables(r),
	}
	if len(v.Cards) == 0 {
		v.First = []Table{stageTable(r.Stages)}
	}
	add := func(fig *figure, err error) error {
		if fig != nil {
			v.Figures = append(v.Figures, fig)
		}
		return err
	}
	for _, draw := range []func(*Run) (*figure, error){f.latency, f.throughput, f.percentiles, f.split} {
		if err := add(draw(r)); err != nil {
			return v, err
		}
	}
	for _, b := range r.Batches[:min(len(r.Batches), maxModels)] {
		if err := add(f.batches(b)); err != nil {
			return v, err
		}
	}
	return v, nil
}

// maxCards is how many stages have cards. More are a table on top.
const maxCards = 4

// cards are the run's, or those of each of several stages: what has loads of its own
// has no mean that says anything.
func (r *Run) cards() []cards {
	stages := r.measured()
	if len(stages) < 2 {
		return []cards{{Tiles: tiles(r.Result)}}
	}
	if len(stages) > maxCards {
		return nil
	}
	all := make([]cards, len(stages))
	for i, s := range stages {
		all[i] = cards{s.Name, s.Load, tiles(s.Result)}
	}
	return all
}

// measured are the stages without the warm-ups.
func (r *Run) measured() []Stage {
	return slices.DeleteFunc(slices.Clone(r.Stages), func(s Stage) bool { return s.Warmup })
}

func tiles(r measure.Result) []tile {
	p := func(name string, percent float64, note string, least int64) tile {
		if value, tells := r.Latency.At(percent); tells {
			return tile{Name: name, Value: latency(value), Note: note}
		}
		return tile{Name: name, Value: none, Note: "told from " + whole(least) + " answers on"}
	}
	errors := tile{Name: "errors", Value: whole(r.Errors), Note: share(r.Errors, r.Requests()) + " of requests"}
	if r.Errors > 0 {
		errors.Verdict = Bad
	}
	return []tile{
		{Name: "throughput", Value: digits(r.Throughput()) + "/s", Note: whole(r.Answered) + " answers in " + digits(r.Elapsed.Seconds()) + "\u00a0s"},
		p("p50", 50, "half were faster", 2),
		p("p99", 99, "1 of 100 was slower", 100),
		p("p99.9", 99.9, "1 of 1,000 was slower", 1000),
		errors,
	}
}

func (f *figures) latency(r *Run) (*figure, error) {
	if len(r.Timeline) == 0 {
		return nil, nil
	}
	caption := "How long good answers took, from when a request was due, by " + width(r.Timeline) + "."
	if slices.ContainsFunc(r.Timeline, func(i measure.Interval) bool { return i.Answered > 0 && !measure.Tells(99, i.Answered) }) {
		caption += " Of fewer than 100 answers the p99 is the slowest, of fewer than 10 the p90 too."
	}
	return f.figure("Latency over time", caption, described(r.Timeline), timelineTable(r.Timeline), func(l svg.Label) (chart.Picture, error) {
		return chart.Latency(l, r.Timeline, spans(r.Stages))
	})
}

func (f *figures) throughput(r *Run) (*figure, error) {
	if len(r.Timeline) == 0 {
		return nil, nil
	}
	caption := "Requests by the second: offered is what was due, answered what came back well."
	description := "Offered, answered and failed requests by the second, over time. Its numbers are in the table below."
	return f.figure("Throughput over time", caption, description, rateTable(r.Timeline), func(l svg.Label) (chart.Picture, error) {
		return chart.Throughput(l, r.Timeline, spans(r.Stages))
	})
}

func (f *figures) percentiles(r *Run) (*figure, error) {
	if len(r.Percentiles) == 0 {
		return nil, nil
	}
	caption := "The latency that so many percent of the answers did not exceed. Each nine takes the same room."
	if len(r.measured()) > 1 {
		caption = "The latency that so many percent of the answers of all stages together did not exceed. Each nine takes the same room."
	}
	l := r.Result.Latency
	description := "The curve of latency by percentile. The median is " + past(l, 50, latency) + ", the 99th percentile " + past(l, 99, latency) + "."
	return f.figure("Percentiles", caption, description, percentileTable(r.Percentiles), func(l svg.Label) (chart.Picture, error) {
		p, err := chart.Percentiles(l, []chart.Curve{{Name: r.Name, Points: r.Percentiles}})
		p.Keys = nil // one line needs no legend
		return p, err
	})
}

// curves puts the percentiles of several runs into one chart, as many as there
// are colours.
func (f *figures) curves(runs []Run) (*figure, error) {
	var curves []chart.Curve
	for _, r := range runs {
		if len(r.Percentiles) > 0 {
			curves = append(curves, chart.Curve{Name: r.Name, Points: r.Percentiles})
		}
	}
	if len(curves) < 2 || len(curves) > chart.MaxCurves {
		return nil, nil
	}
	caption := "The latency that so many percent of the answers did not exceed, run beside run. Each nine takes the same room."
	return f.figure("Percentiles of all runs", caption, "One curve of latency by percentile for each run.", Table{}, func(l svg.Label) (chart.Picture, error) {
		return chart.Percentiles(l, curves)
	})
}

func (f *figures) split(r *Run) (*figure, error) {
	parts := make([]chart.Part, len(r.Steps))
	for i, s := range r.Steps {
		part := chart.Part{Name: shortName(r.Steps, s), Gateway: s.Waited, Queue: s.Queue, Compute: s.Compute}
		if s.Ensemble {
			part.Queue, part.Compute, part.Whole = 0, 0, s.Total
		}
		parts[i] = part
	}
	if len(parts) == 0 {
		return nil, nil
	}
	caption := "The mean time of a request in each model, by the server's statistics: waiting, then computing. An ensemble's whole time is that of its steps and of what lies between them." + beyond(r)
	return f.figure("Where the time goes", caption, "Bars of queue and compute time for each model.", stepTable(r.Steps), func(l svg.Label) (chart.Picture, error) {
		return chart.Split(l, parts)
	})
}

// beyond says what the client measured besides the time of the model that it asked:
// nothing where it is not clear which that is, or where the model's requests were
// slower, so that others must have asked it too.
func beyond(r *Run) string {
	asked, ok := outermost(r.Steps)
	mean := r.Result.Latency.Mean
	rest := mean - asked.Waited - asked.Total
	if !ok || rest < 0 {
		return ""
	}
	text := " The client measured a mean of " + latency(mean) + ": "
	if asked.Admitted > 0 {
		return text + latency(asked.Waited) + " waiting at the gateway, " + latency(asked.Total) + " in " + asked.Model +
			", and " + latency(rest) + " for the network, encoding and sending."
	}
	return text + latency(asked.Total) + " in " + asked.Model + ", and " + latency(rest) +
		" for what no model sees: waiting at a gateway's admission (told with --metrics of its admin port), the network, encoding and sending."
}

// outermost is the one ensemble, or the one model.
func outermost(steps []Step) (found Step, ok bool) {
	for _, s := range steps {
		if !s.Ensemble && len(steps) > 1 {
			continue
		}
		if ok {
			return Step{}, false
		}
		found, ok = s, true
	}
	return found, ok
}

func (f *figures) batches(b Batches) (*figure, error) {
	bars := make([]chart.Bar, len(b.Sizes))
	for i, s := range b.Sizes {
		bars[i] = chart.Bar(s)
	}
	if len(bars) == 0 {
		return nil, nil
	}
	name := modelName(b.Model, b.Version)
	caption := "How many of the model's runs had a batch of which size."
	return f.figure("Batch sizes of "+name, caption, "Bars of the shares of the batch sizes.", batchTable(b.Sizes), func(l svg.Label) (chart.Picture, error) {
		return chart.Sizes(l, bars)
	})
}

func spans(stages []Stage) []chart.Span {
	spans := make([]chart.Span, len(stages))
	for i, s := range stages {
		spans[i] = chart.Span{Name: s.Name, Start: s.Start, End: s.Start + s.Duration, Shaded: s.Warmup}
	}
	return spans
}

// width says how long the intervals of a timeline are.
func width(timeline []measure.Interval) string {
	if w := timeline[0].Width; len(timeline) > 1 && w != time.Second {
		return "intervals of " + since(w) + " s"
	}
	return "second"
}

// described is a timeline in a sentence.
func described(timeline []measure.Interval) string {
	var worst measure.Interval
	failed := 0
	for _, i := range timeline {
		if i.P99 > worst.P99 {
			worst = i
		}
		if i.Failed() > 0 {
			failed++
		}
	}
	text := "Lines of the 50th, 90th and 99th percentile over time. The 99th is at most " + latency(worst.P99) + ", at " + since(worst.Start) + " s."
	if failed > 0 {
		text += " " + strconv.Itoa(failed) + " of " + strconv.Itoa(len(timeline)) + " intervals have errors."
	}
	return text
}

// shortName is a step's model, with its version where there are several of it.
func shortName(steps []Step, s Step) string {
	for _, other := range steps {
		if other.Model == s.Model && other.Version != s.Version {
			return modelName(s.Model, s.Version)
		}
	}
	return s.Model
}

func modelName(model, version string) string {
	if version == "" {
		return model
	}
	return model + " (version " + version + ")"
}
