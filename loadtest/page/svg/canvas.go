// Package svg is a canvas for gonum's plots that writes SVG to be put into an
// HTML page. Colours are class names, which the page's style sheet gives a
// meaning, in light and in dark; nothing else of CSS is written, so that a page
// may forbid inline styles. Texts are escaped. It draws no images.
package svg

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// Ink is a colour by its name. A path is of the class "s-" and its name when it
// is stroked, "f-" when it is filled; texts are filled.
type Ink string

// RGBA is black, for canvases that need a real colour.
func (Ink) RGBA() (r, g, b, a uint32) { return color.Black.RGBA() }

var (
	_ color.Color    = Ink("")
	_ vg.CanvasSizer = (*Canvas)(nil)
)

// Canvas collects what is drawn. Not safe for concurrent use.
type Canvas struct {
	width, height vg.Length
	body          bytes.Buffer
	states        []state
}

// state is what Push saves.
type state struct {
	ink    Ink
	width  vg.Length
	dashes []vg.Length
	offset vg.Length
	place  matrix
}

// New makes a canvas of a size in points. Its origin is at the lower left, as
// plots expect.
func New(width, height vg.Length) *Canvas {
	c := &Canvas{width: width, height: height, states: []state{{place: identity()}}}
	vg.Initialize(c)
	return c
}

// Size is the width and height in points.
func (c *Canvas) Size() (width, height vg.Length) { return c.width, c.height }

func (c *Canvas) top() *state { return &c.states[len(c.states)-1] }

// SetLineWidth sets the width of lines in points.
func (c *Canvas) SetLineWidth(w vg.Length) { c.top().width = w }

// SetLineDash sets the pattern of dashes and gaps.
func (c *Canvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	c.top().dashes, c.top().offset = pattern, offset
}

// SetColor sets the ink. A colour that is no Ink is drawn as the ink "text".
func (c *Canvas) SetColor(clr color.Color) {
	ink, ok := clr.(Ink)
	if !ok {
		ink = "text"
	}
	c.top().ink = ink
}

// Rotate turns what is drawn from now on, in radians.
func (c *Canvas) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	c.top().place = c.top().place.of(matrix{cos, sin, -sin, cos, 0, 0})
}

// Translate moves what is drawn from now on.
func (c *Canvas) Translate(by vg.Point) {
	c.top().place = c.top().place.of(matrix{1, 0, 0, 1, float64(by.X), float64(by.Y)})
}

// Scale scales the places of what is drawn from now on, neither lines' widths
// nor texts.
func (c *Canvas) Scale(x, y float64) {
	c.top().place = c.top().place.of(matrix{x, 0, 0, y, 0, 0})
}

// Push saves the state.
func (c *Canvas) Push() { c.states = append(c.states, *c.top()) }

// Pop restores the state that Push saved last.
func (c *Canvas) Pop() {
	if len(c.states) > 1 {
		c.states = c.states[:len(c.states)-1]
	}
}

// Stroke draws a path's line.
func (c *Canvas) Stroke(path vg.Path) {
	s := c.top()
	if s.width <= 0 || len(path) == 0 {
		return
	}
	fmt.Fprintf(&c.body, `<path class="s-%s" stroke-width="%s"`, html.EscapeString(string(s.ink)), number(s.width))
	if len(s.dashes) > 0 {
		c.body.WriteString(` stroke-dasharray="`)
		for i, d := range s.dashes {
			if i > 0 {
				c.body.WriteByte(' ')
			}
			c.body.WriteString(number(d))
		}
		fmt.Fprintf(&c.body, `" stroke-dashoffset="%s"`, number(s.offset))
	}
	fmt.Fprintf(&c.body, ` d="%s"/>`, c.data(path))
}

// Fill fills a path.
func (c *Canvas) Fill(path vg.Path) {
	if len(path) == 0 {
		return
	}
	fmt.Fprintf(&c.body, `<path class="f-%s" d="%s"/>`, html.EscapeString(string(c.top().ink)), c.data(path))
}

// FillString draws a text whose base line begins at a point.
func (c *Canvas) FillString(f font.Face, at vg.Point, text string) {
	if f.Font.Size <= 0 || text == "" {
		return
	}
	x, y := c.at(at)
	fmt.Fprintf(&c.body, `<text class="f-%s" font-size="%s"`, html.EscapeString(string(c.top().ink)), number(f.Font.Size))
	if turn := c.top().place.angle(); turn == 0 {
		fmt.Fprintf(&c.body, ` x="%s" y="%s"`, x, y)
	} else {
		fmt.Fprintf(&c.body, ` transform="translate(%s %s) rotate(%s)"`, x, y, number(vg.Length(-turn)))
	}
	fmt.Fprintf(&c.body, `>%s</text>`, html.EscapeString(text))
}

// DrawImage draws nothing: no chart has an image.
func (c *Canvas) DrawImage(vg.Rectangle, image.Image) {}

// Hint lays an invisible area over the picture that tells a text when it is
// pointed at.
func (c *Canvas) Hint(area vg.Rectangle, text string) {
	x, y := c.at(vg.Point{X: area.Min.X, Y: area.Max.Y})
	size := area.Size()
	fmt.Fprintf(&c.body, `<rect class="hint" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`,
		x, y, number(size.X), number(size.Y), html.EscapeString(text))
}

// Label is what an assistive device tells of a picture. ID is unique on the page.
type Label struct{ ID, Title, Description string }

// SVG is the picture as an element of a page, with a class.
func (c *Canvas) SVG(class string, l Label) []byte {
	var b bytes.Buffer
	id := html.EscapeString(l.ID)
	fmt.Fprintf(&b, `<svg class="%s" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d">`,
		html.EscapeString(class), number(c.width), number(c.height), id, id)
	fmt.Fprintf(&b, `<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`, id, html.EscapeString(l.Title), id, html.EscapeString(l.Description))
	b.Write(c.body.Bytes())
	b.WriteString("</svg>")
	return b.Bytes()
}
