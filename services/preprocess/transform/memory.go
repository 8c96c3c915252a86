package transform

import (
	"image"

	"triptych/services/preprocess/pixels"
)

// Memory is the most bytes that Apply holds beside the picture and the result, for a
// picture of the size that Read is told: the rows or columns between both passes, and
// the result as RGB, once lying and once upright.
func (p *Plan) Memory(stored image.Point) int64 {
	width, height := int64(p.transform.spec.OutWidth), int64(p.transform.spec.OutHeight)
	between := max(int64(stored.X)*height, int64(stored.Y)*width)
	grey := int64(0)
	if p.transform.spec.Colors == Grey {
		grey = int64(stored.X) * int64(stored.Y)
	}
	return pixels.Samples * (between + 2*width*height + grey)
}
