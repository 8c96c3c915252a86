package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of the picture: two charts beside each other.
const (
	width  = 22 * vg.Centimeter
	height = 9 * vg.Centimeter
	gap    = 0.6 * vg.Centimeter
	margin = 0.2 * vg.Centimeter
)

// series is one line.
type series struct {
	side, name string
	value      func(point) float64
	dashed     bool
}

func p50(p point) float64   { return p.P50 }
func p99(p point) float64   { return p.P99 }
func batch(p point) float64 { return p.Batch }

// colours tell the sides apart, for people who are colour-blind too.
func colours() map[string]color.Color {
	return map[string]color.Color{"ours": color.RGBA{R: 0, G: 114, B: 178, A: 255}, "rival": color.RGBA{R: 213, G: 94, B: 0, A: 255}}
}

// chart draws the points as an SVG: latency on the left, batch size on the right.
func chart(points []point, names map[string]string) ([]byte, error) {
	var latency, size []series
	for _, side := range []string{"ours", "rival"} {
		if !slices.ContainsFunc(points, func(p point) bool { return p.Side == side }) {
			continue
		}
		latency = append(latency, series{side, names[side] + ", p99", p99, true}, series{side, names[side] + ", median", p50, false})
		size = append(size, series{side, names[side], batch, false})
	}
	left, err := panel("Latency", "ms", points, latency)
	if err != nil {
		return nil, err
	}
	overDecades(&left.Y)
	right, err := panel("Batch size, mean", "items", points, size)
	if err != nil {
		return nil, err
	}
	right.Y.Min = 0
	right.Y.Max *= 1.3 // room for the legend
	return picture(left, right)
}

// picture is panels side by side as an SVG.
func picture(panels ...*plot.Plot) ([]byte, error) {
	canvas := vgsvg.New(width, height)
	tiles := draw.Tiles{Rows: 1, Cols: len(panels), PadX: gap, PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: gap}
	plots := [][]*plot.Plot{panels}
	for i, c := range plot.Align(plots, tiles, draw.New(canvas))[0] {
		panels[i].Draw(c)
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("write SVG: %w", err)
	}
	// For those who have not the very font.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,sans-serif;")), nil
}

// overDecades makes an axis logarithmic, from a little below its data and with the same room
// above them for the legend.
func overDecades(axis *plot.Axis) {
	axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	axis.Min = 0.8 * axis.Min
	axis.Max *= math.Pow(axis.Max/axis.Min, 0.5)
}

// shortTicks are the usual ticks, with no more digits than their values have.
type shortTicks struct{ plot.DefaultTicks }

// Ticks implements plot.Ticker.
func (t shortTicks) Ticks(least, most float64) []plot.Tick {
	ticks := t.DefaultTicks.Ticks(least, most)
	for i := range ticks {
		if !ticks[i].IsMinor() {
			ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'g', 4, 64)
		}
	}
	return ticks
}

// styled is an empty panel.
func styled(title, unit string) *plot.Plot {
	p := plot.New()
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	p.Title.Text, p.Y.Label.Text = title, unit
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Millimeter
	return p
}

func panel(title, unit string, points []point, lines []series) (*plot.Plot, error) {
	p := styled(title, unit)
	p.X.Label.Text = "load, % of capacity"
	p.X.Min, p.X.Max = 0, 100
	p.Add(plotter.NewGrid())
	for _, s := range lines {
		var xys plotter.XYs
		for _, at := range points {
			if at.Side == s.side {
				xys = append(xys, plotter.XY{X: at.Percent, Y: s.value(at)})
			}
		}
		line, dots, err := plotter.NewLinePoints(xys)
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", s.name, err)
		}
		line.Color, dots.Color, dots.Shape = colours()[s.side], colours()[s.side], draw.CircleGlyph{}
		line.Width, dots.Radius = vg.Points(1.5), vg.Points(2)
		if s.dashed {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		p.Add(line, dots)
		p.Legend.Add(s.name, line)
	}
	return p, nil
}
