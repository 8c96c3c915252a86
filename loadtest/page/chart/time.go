package chart

import (
	"fmt"
	"math"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"triptych/loadtest/measure"
	"triptych/loadtest/page/svg"
)

// Span is a part of the time with a name, such as a stage.
type Span struct {
	Name       string
	Start, End time.Duration
	// Shaded is set for what does not count, such as a warm-up.
	Shaded bool
}

// fewPoints is how many points of a line are still shown as dots.
const fewPoints = 40

// Latency is percentiles over time, with marks where there were errors.
func Latency(l svg.Label, intervals []measure.Interval, spans []Span) (Picture, error) {
	intervals = whole(intervals)
	failed := failures(intervals)
	logs := false
	picture, err := render(l, both(), func(s shape) (*plot.Plot, error) {
		p := base()
		timeAxis(&p.X, end(intervals, spans), s.ticks)
		least, most := latencies(intervals)
		logs = valuesAxis(&p.Y, least, most*headroom(spans), 5, milliseconds)
		p.Add(grid(), stages{spans, s.letters})
		for _, line := range latencyLines() {
			points := pieces(intervals, func(i measure.Interval) float64 { return ms(line.of(i)) })
			if err := addLines(p, points, line.ink, line.width, false); err != nil {
				return nil, err
			}
		}
		p.Add(errorMarks(failed), hints{intervals, s.hints})
		return p, nil
	})
	picture.Logarithmic = logs
	for _, line := range latencyLines() {
		picture.Keys = append(picture.Keys, Key{line.ink, line.name, Line})
	}
	if len(failed) > 0 {
		picture.Keys = append(picture.Keys, Key{Bad, "errors", Mark})
	}
	return picture, err
}

type latencyLine struct {
	name  string
	ink   svg.Ink
	width vg.Length
	of    func(measure.Interval) time.Duration
}

func latencyLines() []latencyLine {
	return []latencyLine{
		{"p99", Second, 1.5, func(i measure.Interval) time.Duration { return i.P99 }},
		{"p90", Third, 1.5, func(i measure.Interval) time.Duration { return i.P90 }},
		{"p50", First, 2, func(i measure.Interval) time.Duration { return i.P50 }},
	}
}

// latencies are the least and the greatest that the chart shows.
func latencies(intervals []measure.Interval) (least, most float64) {
	least = math.Inf(1)
	for _, i := range intervals {
		if i.Answered > 0 {
			least, most = min(least, ms(i.P50)), max(most, ms(i.P99))
		}
	}
	return max(least, 0.001), most // a latency may be less than a histogram's unit
}

// Throughput is what was offered, answered and failed over time, by the second.
func Throughput(l svg.Label, intervals []measure.Interval, spans []Span) (Picture, error) {
	intervals = whole(intervals)
	failed := failures(intervals)
	picture, err := render(l, both(), func(s shape) (*plot.Plot, error) {
		p := base()
		timeAxis(&p.X, end(intervals, spans), s.ticks)
		most := 0.0
		for _, i := range intervals {
			most = max(most, measure.PerSecond(i.Offered(), i.Width), measure.PerSecond(i.Answered, i.Width))
		}
		fromZero(&p.Y, most*headroom(spans), 5, count)
		p.Add(grid(), stages{spans, s.letters})
		lines := []struct {
			ink    svg.Ink
			of     func(measure.Interval) int64
			dashed bool
		}{
			{Neutral, measure.Interval.Offered, true},
			{First, func(i measure.Interval) int64 { return i.Answered }, false},
			{Bad, measure.Interval.Failed, false},
		}
		for _, line := range lines {
			if line.ink == Bad && len(failed) == 0 {
				continue
			}
			points := plotter.XYs{}
			for _, i := range intervals {
				points = append(points, plotter.XY{X: middle(i), Y: measure.PerSecond(line.of(i), i.Width)})
			}
			if err := addLines(p, []plotter.XYs{points}, line.ink, 2, line.dashed); err != nil {
				return nil, err
			}
		}
		p.Add(hints{intervals, s.hints})
		return p, nil
	})
	picture.Keys = []Key{{Neutral, "offered", Dashed}, {First, "answered", Line}}
	if len(failed) > 0 {
		picture.Keys = append(picture.Keys, Key{Bad, "errors", Line})
	}
	return picture, err
}

// whole leaves out a last interval that is so short that its rate says nothing.
func whole(intervals []measure.Interval) []measure.Interval {
	if n := len(intervals); n > 1 && intervals[n-1].Width < intervals[n-2].Width/2 {
		return intervals[:n-1]
	}
	return intervals
}

// end is that of the time axis.
func end(intervals []measure.Interval, spans []Span) time.Duration {
	var last time.Duration
	for _, i := range intervals {
		last = max(last, i.Start+i.Width)
	}
	for _, s := range spans {
		last = max(last, s.End)
	}
	return last
}

// middle is where an interval's value is drawn, in seconds.
func middle(i measure.Interval) float64 { return (i.Start + i.Width/2).Seconds() }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// pieces are the values of intervals with answers, in pieces where there are
// none between.
func pieces(intervals []measure.Interval, value func(measure.Interval) float64) []plotter.XYs {
	var found []plotter.XYs
	open := false
	for _, i := range intervals {
		if i.Answered == 0 {
			open = false
			continue
		}
		if !open {
			found, open = append(found, nil), true
		}
		last := len(found) - 1
		found[last] = append(found[last], plotter.XY{X: middle(i), Y: max(value(i), 0.001)})
	}
	return found
}

// addLines draws pieces of a line, and dots where there are few points or where
// one stands alone.
func addLines(p *plot.Plot, pieces []plotter.XYs, ink svg.Ink, width vg.Length, dashed bool) error {
	points := 0
	for _, piece := range pieces {
		points += len(piece)
	}
	for _, piece := range pieces {
		line, dots, err := plotter.NewLinePoints(piece)
		if err != nil {
			return err
		}
		line.LineStyle = lineStyle(ink, width)
		if dashed {
			line.Dashes = dashes()
		}
		p.Add(line)
		if points <= fewPoints || len(piece) == 1 {
			dots.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: width + 0.5, Shape: draw.CircleGlyph{}}
			p.Add(dots)
		}
	}
	return nil
}

// failures are the intervals with errors.
func failures(intervals []measure.Interval) []measure.Interval {
	var failed []measure.Interval
	for _, i := range intervals {
		if i.Failed() > 0 {
			failed = append(failed, i)
		}
	}
	return failed
}

// errorMarks stand at the foot of the plot.
type errorMarks []measure.Interval

// Plot draws them.
func (e errorMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, i := range e {
		c.DrawGlyph(draw.GlyphStyle{Color: Bad, Radius: 4.5, Shape: draw.PyramidGlyph{}}, vg.Point{X: x(middle(i)), Y: c.Min.Y + 4})
	}
}

// hints tell an interval's numbers when it is pointed at.
type hints struct {
	intervals []measure.Interval
	on        bool
}

// Plot lays an area over each interval.
func (h hints) Plot(c draw.Canvas, p *plot.Plot) {
	canvas, ok := innermost(c).(*svg.Canvas)
	if !ok || !h.on {
		return
	}
	x, _ := p.Transforms(&c)
	for _, i := range h.intervals {
		area := vg.Rectangle{
			Min: vg.Point{X: x(i.Start.Seconds()), Y: c.Min.Y},
			Max: vg.Point{X: x((i.Start + i.Width).Seconds()), Y: c.Max.Y},
		}
		canvas.Hint(area, hint(i))
	}
}

// innermost is the canvas that a plot has cropped.
func innermost(c vg.Canvas) vg.Canvas {
	for {
		cropped, ok := c.(draw.Canvas)
		if !ok {
			return c
		}
		c = cropped.Canvas
	}
}

func hint(i measure.Interval) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s to %s: offered %s/s, answered %s/s", clock(i.Start), clock((i.Start + i.Width).Round(100*time.Millisecond)),
		short(measure.PerSecond(i.Offered(), i.Width)), short(measure.PerSecond(i.Answered, i.Width)))
	if i.Answered > 0 {
		fmt.Fprintf(&b, "; p50 %s, p90 %s, p99 %s, max %s", milliseconds(ms(i.P50)), milliseconds(ms(i.P90)), milliseconds(ms(i.P99)), milliseconds(ms(i.Max)))
	}
	for _, e := range i.Errors {
		fmt.Fprintf(&b, "; %s: %d", e.Kind, e.Count)
	}
	return b.String()
}
