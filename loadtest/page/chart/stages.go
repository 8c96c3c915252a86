package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// stages show where spans begin, with their names where there is room. Those
// that do not count are shaded.
type stages struct {
	spans   []Span
	letters int
}

// headroom is how much higher an axis must reach for the names of spans to stand
// above the lines.
func headroom(spans []Span) float64 {
	if len(spans) > 1 {
		return 1.1
	}
	return 1
}

// Plot draws them.
func (s stages) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := textStyle(p, Stage)
	style.YAlign = draw.YTop
	for i, span := range s.spans {
		from, to := x(span.Start.Seconds()), min(x(span.End.Seconds()), c.Max.X)
		if span.Shaded {
			c.FillPolygon(Warmup, []vg.Point{{X: from, Y: c.Min.Y}, {X: to, Y: c.Min.Y}, {X: to, Y: c.Max.Y}, {X: from, Y: c.Max.Y}})
		}
		if i > 0 {
			line := lineStyle(Stage, 1)
			line.Dashes = []vg.Length{2, 3}
			c.StrokeLine2(line, from, c.Min.Y, from, c.Max.Y)
		}
		if name := shorten(span.Name, s.letters); len(s.spans) > 1 && from+style.Width(name)+6 < to {
			c.FillText(style, vg.Point{X: from + 4, Y: c.Max.Y - 1}, name)
		}
	}
}
