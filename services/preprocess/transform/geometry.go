package transform

import (
	"image"
	"math"

	"triptych/shared/failure"
)

// geometry is what becomes of one image: its size after resizing and where the
// result's corner lies in that. A negative corner is padding.
type geometry struct {
	width, height int
	left, top     int
}

func (s Spec) geometry(width, height int) (geometry, error) {
	g := geometry{width: width, height: height}
	switch s.Resize {
	case Shortest:
		g.width, g.height = shortest(width, height, s.Size)
	case Longest:
		g.width, g.height = s.longest(width, height)
	case Exact:
		g.width, g.height = s.Width, s.Height
	}
	if s.Resize == Longest && s.Corner {
		return g, nil
	}
	if s.Crop || s.Resize == Longest {
		g.left, g.top = offset(g.width, s.OutWidth), offset(g.height, s.OutHeight)
		return g, nil
	}
	if g.width != s.OutWidth || g.height != s.OutHeight {
		return g, failure.New(failure.Invalid, "the image of %dx%d is %dx%d after resizing, but the model wants %dx%d",
			width, height, g.width, g.height, s.OutWidth, s.OutHeight)
	}
	return g, nil
}

// shortest is torchvision's Resize(size): the longer side is truncated, not
// rounded.
func shortest(width, height, size int) (int, int) {
	if width <= height {
		return size, int(int64(size) * int64(height) / int64(width))
	}
	return int(int64(size) * int64(width) / int64(height)), size
}

// longest is ultralytics' LetterBox: both sides are multiplied by one ratio and
// rounded half to even, and have at least a pixel.
func (s Spec) longest(width, height int) (int, int) {
	ratio := min(float64(s.OutHeight)/float64(height), float64(s.OutWidth)/float64(width))
	if s.ShrinkOnly {
		ratio = min(ratio, 1)
	}
	side := func(n int) int { return max(int(math.RoundToEven(float64(n)*ratio)), 1) }
	return side(width), side(height)
}

// offset is torchvision's CenterCrop on one axis: half of what is left over,
// rounded half to even. An image that is smaller than the result is padded, with
// the smaller half before it, as torchvision and ultralytics do.
func offset(size, crop int) int {
	if size < crop {
		return -((crop - size) / 2)
	}
	half, odd := (size-crop)/2, (size-crop)%2
	return half + odd*(half%2)
}

// Placement tells where an image is to be found in its result, so that what a
// model finds there can be mapped back: x in the image is
// (x in the result - Left) / ScaleX, and y likewise.
type Placement struct {
	// Size is that of the upright image before resizing.
	Size image.Point
	// ScaleX and ScaleY are the size after resizing, divided by Size.
	ScaleX, ScaleY float64
	// Left, Top, Right and Bottom are how many pixels of padding the result has on
	// each side. What a crop has cut off is negative.
	Left, Top, Right, Bottom int
}

// Placement of the image in its result.
func (p *Plan) Placement() Placement {
	g, s, size := p.geometry, p.transform.spec, p.turn.point(p.stored)
	return Placement{
		Size:   size,
		ScaleX: float64(g.width) / float64(size.X), ScaleY: float64(g.height) / float64(size.Y),
		Left: -g.left, Top: -g.top,
		Right: s.OutWidth - g.width + g.left, Bottom: s.OutHeight - g.height + g.top,
	}
}
