package main

import (
	"errors"
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// bar is what both sides did in one contest of the benchmark of the whole chain. The
// rival's is 0 where there was none.
type bar struct {
	contest     string
	ours, rival float64
}

// readChain takes the bars of a number, such as "throughput", from a report. The
// contest of one caller is another matter than those of many.
func readChain(name, number string) ([]bar, error) {
	var report struct {
		Figures []struct {
			Row   int     `json:"row"`
			Name  string  `json:"name"`
			Ours  float64 `json:"ours"`
			Rival float64 `json:"rival"`
		} `json:"figures"`
	}
	if err := decode(name, &report); err != nil {
		return nil, err
	}
	var bars []bar
	for _, f := range report.Figures {
		if contest, ok := strings.CutSuffix(f.Name, ": "+number); ok && f.Row <= lastContest {
			bars = append(bars, bar{strings.ReplaceAll(contest, ", ", "\n"), f.Ours, f.Rival})
		}
	}
	if len(bars) == 0 {
		return nil, errors.New(name + " has no contests: run the rows 1 to 3 of the benchmark")
	}
	return bars, nil
}

// lastContest is the last row of those with many callers.
const lastContest = 3

// chainChart draws a report of the whole chain: throughput on the left, p99 on the
// right.
func chainChart(file, rival string) ([]byte, error) {
	var panels []*plot.Plot
	for _, p := range []struct{ number, title, unit string }{{"throughput", "Throughput, more is better", "answers a second"}, {"p99", "p99, less is better", "ms"}} {
		bars, err := readChain(file, p.number)
		if err != nil {
			return nil, err
		}
		drawn, err := barPanel(p.title, p.unit, rival, bars)
		if err != nil {
			return nil, err
		}
		panels = append(panels, drawn)
	}
	return picture(panels...)
}

// The bars of a contest stand side by side.
const (
	barWidth = 22 // points
	headroom = 1.35
)

func barPanel(title, unit, rival string, bars []bar) (*plot.Plot, error) {
	p := styled(title, unit)
	names := make([]string, len(bars))
	for i, b := range bars {
		names[i] = b.contest
	}
	p.NominalX(names...)
	for side, s := range []struct {
		name, colour string
		value        func(bar) float64
	}{{"Triptych", "ours", func(b bar) float64 { return b.ours }}, {rival, "rival", func(b bar) float64 { return b.rival }}} {
		values, labels, most := heights(bars, s.value)
		if most == 0 {
			continue // nobody was there
		}
		chart, err := plotter.NewBarChart(values, vg.Points(barWidth))
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", s.name, err)
		}
		chart.Color, chart.LineStyle.Width = colours()[s.colour], 0
		chart.Offset = vg.Points(barWidth * (float64(side) - 0.5))
		marks, err := plotter.NewLabels(labels)
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", s.name, err)
		}
		for i := range marks.TextStyle {
			marks.TextStyle[i].XAlign = text.XCenter
			marks.TextStyle[i].Font.Variant, marks.TextStyle[i].Font.Size = "Sans", vg.Points(8)
		}
		marks.Offset = vg.Point{X: chart.Offset, Y: vg.Points(2)}
		p.Add(chart, marks)
		p.Legend.Add(s.name, chart)
		p.Y.Max = max(p.Y.Max, most*headroom)
	}
	p.Y.Min, p.Y.Tick.Marker = 0, shortTicks{}
	return p, nil
}

// heights are the values of one side, and as text above the bars.
func heights(bars []bar, value func(bar) float64) (values plotter.Values, labels plotter.XYLabels, most float64) {
	for i, b := range bars {
		v := value(b)
		most = max(most, v)
		values = append(values, v)
		labels.XYs = append(labels.XYs, plotter.XY{X: float64(i), Y: v})
		labels.Labels = append(labels.Labels, fmt.Sprintf("%.0f", v))
	}
	return values, labels, most
}
