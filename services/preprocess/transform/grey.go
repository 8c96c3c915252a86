package transform

import "triptych/services/preprocess/pixels"

// grey is the picture with three equal samples a pixel. It is the picture itself,
// changed, unless its memory is somebody else's.
func grey(img *pixels.Image, pool *pixels.Pool) *pixels.Image {
	out := img
	if img.Shared() {
		out = pool.Image(img.Size, img.Bounds)
	}
	from, to := img.Pix, out.Pix
	for ; len(from) >= 3 && len(to) >= 3; from, to = from[3:], to[3:] {
		v := luma(from[0], from[1], from[2])
		to[0], to[1], to[2] = v, v, v
	}
	return out
}

// luma is that of ITU-R 601, in fixed point and rounded as in Pillow's
// convert("L").
func luma(r, g, b byte) byte {
	return byte((uint32(r)*19595 + uint32(g)*38470 + uint32(b)*7471 + 0x8000) >> 16)
}
