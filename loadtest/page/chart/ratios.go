package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"triptych/loadtest/page/svg"
)

// Ratio is a ratio with the interval that holds it.
type Ratio struct {
	Name             string
	Value, Low, High float64
	// Bar is what was to be reached; 0 for none.
	Bar float64
	// Ink is Good, Bad or Neutral.
	Ink svg.Ink
}

// Drawable tells whether a ratio has a place on a logarithmic axis.
func (r Ratio) Drawable() bool { return positive(r.Value) }

func positive(v float64) bool { return v > 1e-9 && v < 1e9 }

// bounded are the ends of the interval; the value itself when there is none.
func (r Ratio) bounded() (low, high float64) {
	low, high = r.Value, r.Value
	if positive(r.Low) {
		low = min(low, r.Low)
	}
	if positive(r.High) {
		high = max(high, r.High)
	}
	return low, high
}

// Ratios shows each ratio as a dot with its interval, beside the line where both
// sides are equal. There is at least one, and all are drawable.
func Ratios(l svg.Label, ratios []Ratio) (Picture, error) {
	bars := false
	picture, err := render(l, lying(len(ratios)), func(s shape) (*plot.Plot, error) {
		p := base()
		reach := 1.1 // as far to both sides of 1
		names := make([]string, len(ratios))
		for i, r := range ratios {
			low, high := r.bounded()
			reach = max(reach, high, 1/low)
			if positive(r.Bar) {
				reach, bars = max(reach, r.Bar, 1/r.Bar), true
			}
			names[len(ratios)-1-i] = shorten(r.Name, s.letters)
		}
		ratioAxis(&p.X, reach*1.03, s.ticks)
		rowsAxis(p, names)
		p.Add(forest(ratios))
		return p, nil
	})
	picture.Logarithmic = true
	if bars {
		picture.Keys = []Key{{Text, "bar to reach", Mark}}
	}
	return picture, err
}

// ratioAxis prepares an axis from 1/reach to reach.
func ratioAxis(axis *plot.Axis, reach float64, ticks int) {
	axis.Min, axis.Max, axis.Scale = 1/reach, reach, plot.LogScale{}
	m := marks{{Value: 1, Label: times(1)}}
	for _, v := range ratioSteps(reach, ticks/2) {
		if v <= reach {
			m = append(m, plot.Tick{Value: v, Label: times(v)}, plot.Tick{Value: 1 / v, Label: times(rounded(1 / v))})
		}
	}
	axis.Tick.Marker = m
}

// ratioSteps are marks above 1, at most so many up to reach.
func ratioSteps(reach float64, most int) []float64 {
	for _, steps := range [][]float64{
		{1.02, 1.04, 1.06, 1.08}, {1.05, 1.1, 1.15}, {1.1, 1.2, 1.3, 1.4}, {1.25, 1.5, 1.75}, {1.5, 2, 3}, {2, 4, 8, 16}, {10, 100}, {1e3, 1e6},
	} {
		if last := steps[len(steps)-1]; reach < last*last/steps[len(steps)-2] {
			every := (len(steps) + most - 1) / most
			return thinnedSteps(steps, every)
		}
	}
	return nil
}

// thinnedSteps are each so many of the steps, the last among them.
func thinnedSteps(steps []float64, every int) []float64 {
	var left []float64
	for i := (len(steps) - 1) % every; i < len(steps); i += every {
		left = append(left, steps[i])
	}
	return left
}

// forest draws dots, their intervals and the line at 1.
type forest []Ratio

// Plot draws them, the first on top.
func (f forest) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	c.StrokeLine2(lineStyle(Axis, 1.5), x(1), c.Min.Y, x(1), c.Max.Y)
	for i, r := range f {
		at := y(float64(len(f) - 1 - i))
		low, high := r.bounded()
		line := lineStyle(r.Ink, 2)
		c.StrokeLine2(line, x(low), at, x(high), at)
		for _, end := range []float64{low, high} {
			c.StrokeLine2(line, x(end), at-5, x(end), at+5)
		}
		c.DrawGlyph(draw.GlyphStyle{Color: r.Ink, Radius: 4.5, Shape: draw.CircleGlyph{}}, vg.Point{X: x(r.Value), Y: at})
		if positive(r.Bar) {
			c.DrawGlyph(draw.GlyphStyle{Color: Text, Radius: 4.5, Shape: draw.PyramidGlyph{}}, vg.Point{X: x(r.Bar), Y: at - 12})
		}
	}
}

var (
	_ plot.Plotter = forest(nil)
	_ plot.Plotter = stages{}
	_ plot.Plotter = hints{}
	_ plot.Plotter = errorMarks(nil)
	_ plot.Plotter = totals(nil)
	_ plot.Ticker  = marks(nil)
)
