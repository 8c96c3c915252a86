package transform

import "image"

// positions picks a source pixel for each wanted one. As in Pillow
// (ImagingScaleAffine), the place is a running sum, whose rounding errors are
// part of the result.
func (w window) positions() []int {
	picked := make([]int, 0, w.to-w.from)
	step := float64(w.in) / float64(w.out)
	at := step * 0.5
	for i := range w.to {
		if i >= w.from {
			picked = append(picked, min(int(at), w.in-1))
		}
		at += step
	}
	return picked
}

func nearest(img *image.NRGBA, columns, rows window, target canvas) {
	xs := columns.positions()
	for y, sourceY := range rows.positions() {
		row := img.Pix[img.PixOffset(img.Rect.Min.X, img.Rect.Min.Y+sourceY):]
		out := target.pix[y*target.stride:]
		for x, sourceX := range xs {
			copy(out[samples*x:], row[4*sourceX:][:samples])
		}
	}
}
