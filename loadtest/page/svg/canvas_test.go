package svg_test

import (
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"

	"triptych/loadtest/page/svg"
)

// drawn is a picture without its frame.
func drawn(t *testing.T, draw func(*svg.Canvas)) string {
	t.Helper()
	c := svg.New(100, 50)
	draw(c)
	text := string(c.SVG("chart", svg.Label{ID: "a", Title: "T", Description: "D"}))
	checkXML(t, text)
	_, body, ok := strings.Cut(text, "</desc>")
	if !ok {
		t.Fatal(text)
	}
	return strings.TrimSuffix(body, "</svg>")
}

func checkXML(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
}

func line(points ...float64) vg.Path {
	var p vg.Path
	p.Move(vg.Point{X: vg.Length(points[0]), Y: vg.Length(points[1])})
	for i := 2; i < len(points); i += 2 {
		p.Line(vg.Point{X: vg.Length(points[i]), Y: vg.Length(points[i+1])})
	}
	return p
}

func face() font.Face {
	return font.NewCache(liberation.Collection()).Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, 12)
}

func TestCanvas(t *testing.T) {
	tests := map[string]struct {
		draw func(*svg.Canvas)
		want string
	}{
		"nothing": {func(*svg.Canvas) {}, ""},
		"a line": {func(c *svg.Canvas) {
			c.SetColor(svg.Ink("c1"))
			c.SetLineWidth(1.25)
			c.Stroke(line(0, 0, 10, 50))
		}, `<path class="s-c1" stroke-width="1.3" d="M0 50L10 0"/>`},
		"a dashed line": {func(c *svg.Canvas) {
			c.SetLineDash([]vg.Length{5, 4}, 1)
			c.Stroke(line(0, 0, 1, 0))
		}, `<path class="s-text" stroke-width="1" stroke-dasharray="5 4" stroke-dashoffset="1" d="M0 50L1 50"/>`},
		"no width": {func(c *svg.Canvas) {
			c.SetLineWidth(0)
			c.Stroke(line(0, 0, 1, 0))
		}, ""},
		"no path": {func(c *svg.Canvas) { c.Stroke(nil); c.Fill(nil) }, ""},
		"an area": {func(c *svg.Canvas) {
			c.SetColor(color.White) // no ink
			p := line(0, 0, 10, 0, 10, 10)
			p.Close()
			c.Fill(p)
		}, `<path class="f-text" d="M0 50L10 50L10 40Z"/>`},
		"moved, turned, scaled": {func(c *svg.Canvas) {
			c.Push()
			c.Translate(vg.Point{X: 10, Y: 20})
			c.Rotate(math.Pi / 2)
			c.Scale(2, 3)
			c.Stroke(line(0, 0, 5, 0, 5, 1))
			c.Pop()
			c.Pop() // one too many is none
			c.Stroke(line(0, 0, 1, 0))
		}, `<path class="s-text" stroke-width="1" d="M10 30L10 20L7 20"/><path class="s-text" stroke-width="1" d="M0 50L1 50"/>`},
		"curves": {func(c *svg.Canvas) {
			p := line(0, 50)
			p.QuadTo(vg.Point{X: 1, Y: 50}, vg.Point{X: 2, Y: 50})
			p.CubeTo(vg.Point{X: 3, Y: 50}, vg.Point{X: 4, Y: 50}, vg.Point{X: 5, Y: 50})
			c.Fill(p)
		}, `<path class="f-text" d="M0 0Q1 0 2 0C3 0 4 0 5 0"/>`},
		"an arc": {func(c *svg.Canvas) {
			var p vg.Path
			p.Arc(vg.Point{X: 10, Y: 10}, 10, 0, math.Pi/2)
			c.Stroke(p)
		}, `<path class="s-text" stroke-width="1" d="M20 40L18.7 35L15 31.3L10 30"/>`},
		"no number": {func(c *svg.Canvas) { c.Stroke(line(math.NaN(), math.Inf(1), 1, 1)) }, `<path class="s-text" stroke-width="1" d="M0 0L1 49"/>`},
		"a text": {func(c *svg.Canvas) {
			c.FillString(face(), vg.Point{X: 1, Y: 2}, `<b onload="x">&</b>`)
			c.FillString(face(), vg.Point{}, "")
		}, `<text class="f-text" font-size="12" x="1" y="48">&lt;b onload=&#34;x&#34;&gt;&amp;&lt;/b&gt;</text>`},
		"a turned text": {func(c *svg.Canvas) {
			c.Rotate(math.Pi / 2)
			c.FillString(face(), vg.Point{X: 1, Y: 2}, "up")
		}, `<text class="f-text" font-size="12" transform="translate(-2 49) rotate(-90)">up</text>`},
		"an image": {func(c *svg.Canvas) { c.DrawImage(vg.Rectangle{}, nil) }, ""},
		"a hint": {func(c *svg.Canvas) {
			c.Hint(vg.Rectangle{Min: vg.Point{X: 1, Y: 2}, Max: vg.Point{X: 4, Y: 6}}, "<now>")
		}, `<rect class="hint" x="1" y="44" width="3" height="4"><title>&lt;now&gt;</title></rect>`},
		"a hostile ink": {func(c *svg.Canvas) {
			c.SetColor(svg.Ink(`"><script>`))
			c.Stroke(line(0, 0, 1, 0))
		}, `<path class="s-&#34;&gt;&lt;script&gt;" stroke-width="1" d="M0 50L1 50"/>`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := drawn(t, test.draw); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestLabel(t *testing.T) {
	got := string(svg.New(100, 50.25).SVG(`chart "wide"`, svg.Label{ID: "c<1", Title: "<T>", Description: "a & b"}))
	want := `<svg class="chart &#34;wide&#34;" viewBox="0 0 100 50.3" role="img" aria-labelledby="c&lt;1-t c&lt;1-d">` +
		`<title id="c&lt;1-t">&lt;T&gt;</title><desc id="c&lt;1-d">a &amp; b</desc></svg>`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r, g, b, a := svg.Ink("c1").RGBA(); r+g+b != 0 || a != 0xffff {
		t.Error("an ink is not black elsewhere")
	}
}
