package transform

import "triptych/shared/failure"

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
	case Exact:
		g.width, g.height = s.Width, s.Height
	}
	if s.Crop {
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

// offset is torchvision's CenterCrop on one axis: half of what is left over,
// rounded half to even. An image that is smaller than the crop is padded, with
// the smaller half before it.
func offset(size, crop int) int {
	if size < crop {
		return -((crop - size) / 2)
	}
	half, odd := (size-crop)/2, (size-crop)%2
	return half + odd*(half%2)
}
