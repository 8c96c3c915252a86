package svg

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// matrix places a point: x' = a*x + c*y + e, y' = b*x + d*y + f.
type matrix struct{ a, b, c, d, e, f float64 }

func identity() matrix { return matrix{a: 1, d: 1} }

// of is m after n.
func (m matrix) of(n matrix) matrix {
	return matrix{
		a: m.a*n.a + m.c*n.b, b: m.b*n.a + m.d*n.b,
		c: m.a*n.c + m.c*n.d, d: m.b*n.c + m.d*n.d,
		e: m.a*n.e + m.c*n.f + m.e, f: m.b*n.e + m.d*n.f + m.f,
	}
}

// angle is how far m turns, in degrees, against the clock.
func (m matrix) angle() float64 { return math.Atan2(m.b, m.a) * 180 / math.Pi }

// at is a point as SVG has it, whose y grows downwards.
func (c *Canvas) at(p vg.Point) (x, y string) {
	m, px, py := c.top().place, float64(p.X), float64(p.Y)
	return number(vg.Length(m.a*px + m.c*py + m.e)), number(c.height - vg.Length(m.b*px+m.d*py+m.f))
}

// number is a length to a tenth of a point, which no eye tells from the exact one.
func number(l vg.Length) string {
	v := math.Round(float64(l)*10) / 10
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "0" // not "-0"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// data is a path in SVG's letters.
func (c *Canvas) data(path vg.Path) string {
	var b strings.Builder
	point := func(letter byte, p vg.Point) {
		x, y := c.at(p)
		b.WriteByte(letter)
		b.WriteString(x + " " + y)
	}
	for _, part := range path {
		switch part.Type {
		case vg.MoveComp:
			point('M', part.Pos)
		case vg.LineComp:
			point('L', part.Pos)
		case vg.ArcComp:
			for i, p := range onArc(part) {
				point(arcLetter(i, b.Len()), p)
			}
		case vg.CurveComp:
			point(curveLetter(len(part.Control)), part.Control[0])
			for _, p := range part.Control[1:] {
				point(' ', p)
			}
			point(' ', part.Pos)
		case vg.CloseComp:
			b.WriteByte('Z')
		}
	}
	return b.String()
}

// curveLetter is that of a curve with so many control points.
func curveLetter(controls int) byte {
	if controls == 1 {
		return 'Q'
	}
	return 'C'
}

// arcLetter begins a path at its first point.
func arcLetter(i, written int) byte {
	if i == 0 && written == 0 {
		return 'M'
	}
	return 'L'
}

// arcStep is the angle between neighbouring points of an arc: small circles, as
// charts have them, look round.
const arcStep = math.Pi / 6

// onArc is an arc as points of a line.
func onArc(arc vg.PathComp) []vg.Point {
	n := max(int(math.Ceil(math.Abs(arc.Angle)/arcStep)), 1)
	points := make([]vg.Point, n+1)
	for i := range points {
		sin, cos := math.Sincos(arc.Start + arc.Angle*float64(i)/float64(n))
		points[i] = vg.Point{X: arc.Pos.X + arc.Radius*vg.Length(cos), Y: arc.Pos.Y + arc.Radius*vg.Length(sin)}
	}
	return points
}
