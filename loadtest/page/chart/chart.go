// Package chart draws the charts of a load test's page. Each comes in two
// shapes, for a screen and for a phone, as elements of a page. It gives colours
// names only: see Inks.
package chart

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"triptych/loadtest/page/svg"
)

// The inks of the charts. A page's style sheet gives each two rules, for lines
// and for areas.
const (
	Text    svg.Ink = "text"
	Axis    svg.Ink = "axis"
	Grid    svg.Ink = "grid"
	Stage   svg.Ink = "stage"
	Warmup  svg.Ink = "warmup"
	First   svg.Ink = "c1"
	Second  svg.Ink = "c2"
	Third   svg.Ink = "c3"
	Fourth  svg.Ink = "c4"
	Fifth   svg.Ink = "c5"
	Sixth   svg.Ink = "c6"
	Good    svg.Ink = "good"
	Bad     svg.Ink = "bad"
	Neutral svg.Ink = "neutral"
)

// Inks are all of them.
func Inks() []svg.Ink {
	return append([]svg.Ink{Text, Axis, Grid, Stage, Warmup, Good, Bad, Neutral}, series()...)
}

// MaxCurves is how many lines have colours of their own.
const MaxCurves = 6

// series are the inks of lines that have no meaning of their own.
func series() []svg.Ink { return []svg.Ink{First, Second, Third, Fourth, Fifth, Sixth} }

// Picture is a chart.
type Picture struct {
	// Wide and Narrow are the same as SVG elements, of the classes "chart wide"
	// and "chart narrow". A page shows one of them.
	Wide, Narrow string
	Keys         []Key
	// Logarithmic is set when the values' axis is.
	Logarithmic bool
}

// Key is an entry of a legend.
type Key struct {
	Ink  svg.Ink
	Name string
	Look Look
}

// Look is how something is drawn.
type Look string

// The looks.
const (
	Line   Look = "line"
	Dashed Look = "dashed"
	Area   Look = "area"
	Mark   Look = "mark"
	Dot    Look = "dot"
)

// shape is one of a picture's two.
type shape struct {
	name          string
	width, height vg.Length
	// ticks is about how many fit beside each other on the horizontal axis.
	ticks int
	// letters bounds a name beside an axis.
	letters int
	// hints is set where there is room and a pointer to point with.
	hints bool
}

func wide(height vg.Length) shape {
	return shape{name: "wide", width: 860, height: height, ticks: 9, letters: 40, hints: true}
}

func narrow(height vg.Length) shape {
	return shape{name: "narrow", width: 380, height: height, ticks: 4, letters: 20}
}

// letterSize is that of all texts in points.
const letterSize = 12

// render draws a picture in both shapes.
func render(l svg.Label, shapes [2]shape, drawn func(shape) (*plot.Plot, error)) (Picture, error) {
	var out [2]string
	for i, s := range shapes {
		p, err := drawn(s)
		if err != nil {
			return Picture{}, fmt.Errorf("draw %s: %w", l.Title, err)
		}
		c := svg.New(s.width, s.height)
		p.Draw(draw.New(c))
		label := l
		label.ID += "-" + s.name
		out[i] = string(c.SVG("chart "+s.name, label))
	}
	return Picture{Wide: out[0], Narrow: out[1]}, nil
}

// both are the two shapes of most charts.
func both() [2]shape { return [2]shape{wide(250), narrow(240)} }

// base is an empty plot in our style.
func base() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Width, axis.Padding = Axis, 1, 0
		axis.Tick.Label.Color, axis.Tick.Color = Text, Axis
		axis.Tick.Length, axis.Tick.Width = 4, 1
		axis.Tick.Label.Font.Variant, axis.Tick.Label.Font.Size = "Sans", letterSize
	}
	p.Y.Width, p.Y.Tick.Length = 0, 0 // the grid says it
	p.Y.Tick.Width = 0
	return p
}

// grid is lines across the plot at the vertical axis's ticks.
func grid() plot.Plotter {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal = nil, lineStyle(Grid, 1)
	return g
}

func lineStyle(ink svg.Ink, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: ink, Width: width}
}

// dashes are those of lines that are dashed.
func dashes() []vg.Length { return []vg.Length{5, 4} }

// textStyle is that of a text within a plot.
func textStyle(p *plot.Plot, ink svg.Ink) text.Style {
	style := p.X.Tick.Label
	style.Color, style.XAlign, style.YAlign = ink, draw.XLeft, draw.YCenter
	return style
}

// shorten cuts a name to so many letters.
func shorten(name string, letters int) string {
	if runes := []rune(name); len(runes) > letters {
		return string(runes[:letters-1]) + "…"
	}
	return name
}
