package chart

import (
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"triptych/loadtest/page/svg"
)

// Bar is how often something came that has a size.
type Bar struct{ Size, Count int64 }

// Sizes are bars of the shares of each size, such as that of batches. There is
// at least one.
func Sizes(l svg.Label, bars []Bar) (Picture, error) {
	var total, tallest int64
	for _, b := range bars {
		total, tallest = total+b.Count, max(tallest, b.Count)
	}
	total = max(total, 1)
	return render(l, [2]shape{wide(200), narrow(200)}, func(s shape) (*plot.Plot, error) {
		p := base()
		values, ticks := make(plotter.Values, len(bars)), marks{}
		every := max(len(bars)*3/(s.ticks*5)+1, 1)
		for i, b := range bars {
			values[i] = float64(b.Count) / float64(total)
			if len(bars) <= s.ticks || i%every == 0 {
				ticks = append(ticks, plot.Tick{Value: float64(i), Label: strconv.FormatInt(b.Size, 10)})
			}
		}
		fromZero(&p.Y, float64(tallest)/float64(total), 4, percent)
		width := min(0.7*(s.width-60)/vg.Length(len(bars)), 60)
		chart, err := plotter.NewBarChart(values, max(width, 1))
		if err != nil {
			return nil, err
		}
		chart.Color, chart.LineStyle.Width = First, 0
		p.Add(grid(), chart)
		p.X.Min, p.X.Max, p.X.Tick.Marker = -0.6, float64(len(bars))-0.4, ticks
		p.X.Tick.Length = 0
		return p, nil
	})
}

// Part is the time that one step takes: at the gateway before any step, before it
// runs, and while it runs; or the whole time of what is made of steps.
type Part struct {
	Name                           string
	Gateway, Queue, Compute, Whole time.Duration
}

// times are the stacked parts, in milliseconds.
func (p Part) times() [4]float64 {
	return [4]float64{ms(p.Gateway), ms(p.Queue), ms(p.Compute), ms(p.Whole)}
}

func (p Part) sum() float64 { return ms(p.Gateway + p.Queue + p.Compute + p.Whole) }

// partKeys are the legend of what times gives.
func partKeys() [4]Key {
	return [4]Key{{Second, "waited at the gateway", Area}, {Fourth, "queue", Area}, {First, "compute", Area}, {Neutral, "whole ensemble", Area}}
}

// rowHeight is that of a row of a chart that lies on its side.
const rowHeight = 34

// lying are the shapes of a chart with so many rows.
func lying(rows int) [2]shape {
	height := vg.Length(rows*rowHeight + 30)
	return [2]shape{wide(height), narrow(height)}
}

// Split is stacked bars of the time that each step takes. There is at least one.
func Split(l svg.Label, parts []Part) (Picture, error) {
	longest := 0.0
	for _, part := range parts {
		longest = max(longest, part.sum())
	}
	upwards := slices.Clone(parts) // rows count from below, and the first is on top
	slices.Reverse(upwards)
	picture, err := render(l, lying(len(parts)), func(s shape) (*plot.Plot, error) {
		p := base()
		names := make([]string, len(upwards))
		for i, part := range upwards {
			names[i] = shorten(part.Name, s.letters)
		}
		fromZero(&p.X, longest*1.12, s.ticks, milliseconds) // with room for the figures
		rowsAxis(p, names)
		if err := addStack(p, upwards); err != nil {
			return nil, err
		}
		p.Add(totals(upwards))
		return p, nil
	})
	for i, key := range partKeys() {
		if slices.ContainsFunc(parts, func(p Part) bool { return p.times()[i] > 0 }) {
			picture.Keys = append(picture.Keys, key)
		}
	}
	return picture, err
}

// addStack adds the bars of each of the times on top of the one before.
func addStack(p *plot.Plot, parts []Part) error {
	var below *plotter.BarChart
	for i, key := range partKeys() {
		values := make(plotter.Values, len(parts))
		for n, part := range parts {
			values[n] = part.times()[i]
		}
		bars, err := plotter.NewBarChart(values, rowHeight*0.6)
		if err != nil {
			return err
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, key.Ink, 0
		if below != nil {
			bars.StackOn(below)
		}
		p.Add(bars)
		below = bars
	}
	return nil
}

// rowsAxis names rows from below, with grid lines upright.
func rowsAxis(p *plot.Plot, names []string) {
	m := make(marks, len(names))
	for i, name := range names {
		m[i] = plot.Tick{Value: float64(i), Label: name}
	}
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = -0.6, float64(len(names))-0.4, m
	p.Y.Padding = 6
	g := plotter.NewGrid()
	g.Vertical, g.Horizontal.Color = lineStyle(Grid, 1), nil
	p.Add(g)
}

// totals write each row's sum beside its bar.
type totals []Part

// Plot writes them.
func (t totals) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := textStyle(p, Text)
	for i, part := range t {
		c.FillText(style, vg.Point{X: x(part.sum()) + 5, Y: y(float64(i))}, milliseconds(rounded(part.sum())))
	}
}

// rounded is a value to three significant digits.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-2)
	return math.Round(v/power) * power
}
