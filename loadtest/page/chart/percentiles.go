package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"triptych/loadtest/measure"
	"triptych/loadtest/page/svg"
)

// Curve is a distribution of latencies with a name.
type Curve struct {
	Name   string
	Points []measure.Percentile
}

// furthest is the last percentile of the axis, 99.99, as one of so many. The
// points of a distribution seldom hit it, so that one behind it is drawn too.
const (
	furthest = 10_000
	behind   = 1.2
)

// Percentiles are curves as HdrHistogram's plots have them: each nine takes the
// same room. Only as many curves are drawn as there are colours. A percentile
// that would need more requests than there were is not drawn.
func Percentiles(l svg.Label, curves []Curve) (Picture, error) {
	curves = curves[:min(len(curves), len(series()))]
	logs := false
	picture, err := render(l, both(), func(s shape) (*plot.Plot, error) {
		p := base()
		least, most, last := math.Inf(1), 0.0, 10.0
		for _, curve := range curves {
			for _, at := range drawable(curve.Points) {
				least, most, last = min(least, at.Y), max(most, at.Y), max(last, at.X)
			}
		}
		percentAxis(&p.X, last, s.hints)
		logs = valuesAxis(&p.Y, least, most, 5, milliseconds)
		p.Add(grid())
		for i, curve := range curves {
			points := drawable(curve.Points)
			if len(points) == 0 {
				continue
			}
			line, err := plotter.NewLine(points)
			if err != nil {
				return nil, err
			}
			line.LineStyle = lineStyle(series()[i], 2)
			p.Add(line)
		}
		return p, nil
	})
	picture.Logarithmic = logs
	for i, curve := range curves {
		picture.Keys = append(picture.Keys, Key{series()[i], curve.Name, Line})
	}
	return picture, err
}

// drawable are the points of a curve whose percentile had its requests. X is one
// of how many is slower.
func drawable(points []measure.Percentile) plotter.XYs {
	if len(points) == 0 {
		return nil
	}
	total := points[len(points)-1].Count
	var xys plotter.XYs
	for _, at := range points {
		slower := 1 - at.Percent/100
		if x := 1 / slower; x <= behind*furthest && (at.Percent == 0 || measure.Tells(at.Percent, total)) {
			xys = append(xys, plotter.XY{X: x, Y: max(ms(at.Latency), 0.001)})
		}
	}
	return xys
}

// percentAxis prepares the axis from 0 % up to one of last. Without room 0 % has
// no label.
func percentAxis(axis *plot.Axis, last float64, room bool) {
	axis.Min, axis.Max, axis.Scale = 1, last, plot.LogScale{}
	var m marks
	for _, at := range []struct {
		one  float64
		text string
	}{{1, "0 %"}, {2, "50 %"}, {10, "90 %"}, {100, "99 %"}, {1000, "99.9 %"}, {furthest, "99.99 %"}} {
		if at.one <= last*1.001 && (room || at.one > 1) {
			m = append(m, plot.Tick{Value: min(at.one, last), Label: at.text})
		}
	}
	axis.Tick.Marker = m
}
