package transform

import (
	"image"

	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
)

// turn is what makes stored pixels upright. No picture is ever turned before it is
// resized: its axes are read in other orders, which comes to the same to the bit
// and costs nothing.
type turn struct {
	transposes                  bool
	mirrorsColumns, mirrorsRows bool // of the upright image
}

// turns are EXIF's orientations.
var turns = [...]turn{
	1: {},
	2: {mirrorsColumns: true},
	3: {mirrorsColumns: true, mirrorsRows: true},
	4: {mirrorsRows: true},
	5: {transposes: true},
	6: {transposes: true, mirrorsColumns: true},
	7: {transposes: true, mirrorsColumns: true, mirrorsRows: true},
	8: {transposes: true, mirrorsRows: true},
}

// point is a size on the other side of the turn.
func (t turn) point(p image.Point) image.Point {
	if t.transposes {
		return image.Pt(p.Y, p.X)
	}
	return p
}

// rectangle is a region of the axes as one of the stored pixels.
func (t turn) rectangle(r image.Rectangle) image.Rectangle {
	return image.Rectangle{Min: t.point(r.Min), Max: t.point(r.Max)}
}

// transpose swaps rows and columns. Size is that of the result.
func transpose(from, to resample.Canvas, size image.Point) {
	for y := range size.Y {
		row := to.Pix[y*to.Stride:][:size.X*pixels.Samples]
		for x := range size.X {
			copy(row[x*pixels.Samples:][:pixels.Samples], from.Pix[x*from.Stride+y*pixels.Samples:])
		}
	}
}
