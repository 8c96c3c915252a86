package page

import (
	"strconv"
	"strings"

	"triptych/loadtest/measure"
)

func row(cells ...string) Row { return Row{Cells: cells} }

// thresholdTable is nil without thresholds.
func thresholdTable(thresholds []Threshold) *Table {
	if len(thresholds) == 0 {
		return nil
	}
	t := &Table{Title: "Thresholds", Header: []string{"Condition", "Of", "Measured"}}
	for _, one := range thresholds {
		where := one.Where
		if where == "" {
			where = "the whole"
		}
		t.Rows = append(t.Rows, Row{Cells: []string{one.Condition, where, one.Measured}, Verdict: verdictOf(one.Met)})
	}
	return t
}

// summaryTable puts several runs below each other; nil for fewer than two.
func summaryTable(runs []Run) *Table {
	if len(runs) < 2 {
		return nil
	}
	t := &Table{Title: "Runs", Header: []string{"Run", "Load", "Requests", "Answers/s", "p50, ms", "p90, ms", "p99, ms", "Errors"}}
	for _, r := range runs {
		l := r.Result.Latency
		t.Rows = append(t.Rows, row(r.Name, r.Load, whole(r.Result.Requests()), digits(r.Result.Throughput()),
			past(l, 50, milliseconds), past(l, 90, milliseconds), past(l, 99, milliseconds), whole(r.Result.Errors)))
	}
	return t
}

// runTables are those below a run's charts.
func runTables(r *Run) []Table {
	var tables []Table
	if r.Result.Answered > 0 {
		tables = append(tables, spreadTable(r))
	}
	if len(r.Result.Faults) > 0 {
		tables = append(tables, faultTable(r.Result))
	}
	if n := len(r.measured()); len(r.Stages) > 0 && n <= maxCards {
		tables = append(tables, stageTable(r.Stages))
	}
	if len(r.Services) > 0 {
		tables = append(tables, serviceTable(r))
	}
	return tables
}

// spreadTable has a row for each stage where there are several.
func spreadTable(r *Run) Table {
	cells := func(name string, s measure.Spread) Row {
		return row(name, milliseconds(s.Min), milliseconds(s.Mean), past(s, 50, milliseconds), past(s, 90, milliseconds),
			past(s, 95, milliseconds), past(s, 99, milliseconds), past(s, 99.9, milliseconds), milliseconds(s.Max))
	}
	t := Table{
		Title:  "Latency, ms",
		Header: []string{"", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"},
	}
	stages := r.measured()
	if len(stages) < 2 {
		t.Rows = []Row{cells("good answers", r.Result.Latency)}
	} else {
		for _, s := range stages {
			t.Rows = append(t.Rows, cells(s.Name, s.Result.Latency))
		}
	}
	if late := r.Result.Lateness; late.Max > 0 {
		t.Rows = append(t.Rows, cells("sent late by", late))
		t.Note = "Sent late: how long after a request was due the generator sent it."
	}
	return t
}

func faultTable(r measure.Result) Table {
	t := Table{Title: "Errors", Header: []string{"Kind", "Count", "Share", "Known after, p50", "p99", "The first said"}}
	for _, f := range r.Faults {
		p50, p99 := past(f.Latency, 50, latency), past(f.Latency, 99, latency)
		t.Rows = append(t.Rows, row(f.Kind, whole(f.Count), share(f.Count, r.Requests()), p50, p99, f.Example))
	}
	return t
}

func stageTable(stages []Stage) Table {
	t := Table{Title: "Stages", Note: "Warm-ups are not part of the run's figures.", Header: []string{"Stage", "Load", "From, s", "For, s", "Answers/s", "p50, ms", "p99, ms", "Errors"}}
	for _, s := range stages {
		l := s.Result.Latency
		t.Rows = append(t.Rows, row(s.Name, s.Load, since(s.Start), since(s.Duration), digits(s.Result.Throughput()),
			past(l, 50, milliseconds), past(l, 99, milliseconds), whole(s.Result.Errors)))
	}
	return t
}

func serviceTable(r *Run) Table {
	t := Table{Title: "Processes", Header: []string{"Process", "CPU, s", "Cores", "CPU a request, ms", "Memory before", "after", "change"}}
	for _, s := range r.Services {
		each := none
		if n := r.Result.Requests(); n > 0 {
			each = digits(s.CPU.Seconds() * 1000 / float64(n))
		}
		cores := none
		if r.Result.Elapsed > 0 {
			cores = digits(s.CPU.Seconds() / r.Result.Elapsed.Seconds())
		}
		change := size(s.MemoryAfter - s.MemoryBefore)
		if s.MemoryAfter > s.MemoryBefore {
			change = "+" + change
		}
		t.Rows = append(t.Rows, row(s.Name, digits(s.CPU.Seconds()), cores, each, size(s.MemoryBefore), size(s.MemoryAfter), change))
	}
	return t
}

func timelineTable(timeline []measure.Interval) Table {
	t := Table{Header: []string{"From, s", "Sent", "Answered", "p50, ms", "p90, ms", "p99, ms", "max, ms", "Errors"}}
	for _, i := range timeline {
		p50, p90, p99, most := none, none, none, none
		if i.Answered > 0 {
			p50, p90, p99, most = milliseconds(i.P50), milliseconds(i.P90), milliseconds(i.P99), milliseconds(i.Max)
		}
		t.Rows = append(t.Rows, row(since(i.Start), whole(i.Sent), whole(i.Answered), p50, p90, p99, most, kinds(i)))
	}
	return t
}

// kinds are the errors of an interval in words.
func kinds(i measure.Interval) string {
	texts := make([]string, len(i.Errors))
	for n, e := range i.Errors {
		texts[n] = strconv.FormatInt(e.Count, 10) + " " + e.Kind
	}
	return strings.Join(texts, ", ")
}

func rateTable(timeline []measure.Interval) Table {
	t := Table{Header: []string{"From, s", "Offered/s", "Answered/s", "Errors/s"}}
	for _, i := range timeline {
		if i.Width <= 0 {
			continue
		}
		rate := func(n int64) string { return digits(measure.PerSecond(n, i.Width)) }
		t.Rows = append(t.Rows, row(since(i.Start), rate(i.Offered()), rate(i.Answered), rate(i.Failed())))
	}
	return t
}

func percentileTable(points []measure.Percentile) Table {
	t := Table{Header: []string{"Percentile", "Latency, ms", "Answers up to it"}}
	for _, p := range points {
		t.Rows = append(t.Rows, row(strconv.FormatFloat(p.Percent, 'f', -1, 64), milliseconds(p.Latency), whole(p.Count)))
	}
	return t
}

func stepTable(steps []Step) Table {
	t := Table{Header: []string{"Model", "Requests", "Failed", "From cache", "Runs", "Items a run", "At the gateway, ms", "Queue, ms", "Compute, ms", "Whole, ms"}}
	for _, s := range steps {
		batch, queue, compute := none, milliseconds(s.Queue), milliseconds(s.Compute)
		if s.Runs > 0 {
			batch = digits(float64(s.Inferences) / float64(s.Runs))
		}
		waited := none
		if s.Admitted > 0 {
			waited = milliseconds(s.Waited)
		}
		name := modelName(s.Model, s.Version)
		if s.Ensemble {
			name, batch, queue, compute = name+", an ensemble", none, none, none
		}
		t.Rows = append(t.Rows, row(name, whole(s.Requests), whole(s.Failed), whole(s.CacheHits), whole(s.Runs), batch, waited, queue, compute, milliseconds(s.Total)))
	}
	return t
}

func batchTable(sizes []BatchSize) Table {
	var total int64
	for _, s := range sizes {
		total += s.Count
	}
	t := Table{Header: []string{"Batch size", "Runs", "Share"}}
	for _, s := range sizes {
		t.Rows = append(t.Rows, row(strconv.FormatInt(s.Size, 10), whole(s.Count), share(s.Count, total)))
	}
	return t
}
