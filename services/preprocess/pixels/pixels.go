// Package pixels holds pictures in the one form in which they travel from the
// decoders to the resampler, and lends the memory for them. It knows nothing of
// formats or models.
package pixels

import "image"

// Samples is how many bytes a pixel has: red, green and blue.
const Samples = 3

// Image is a picture, or a part of one, as packed RGB of 8 bits a sample.
type Image struct {
	// Pix has the rows of Bounds from top to bottom, without gaps:
	// Bounds.Dy() x Bounds.Dx() x 3 bytes.
	Pix []byte
	// Bounds is which part of the picture Pix holds.
	Bounds image.Rectangle
	// Size is that of the whole picture, in which Bounds lies.
	Size image.Point

	lent *[]byte
	pool *Pool
}

// Of is a whole picture in memory that somebody else owns. It is an error of the
// caller's if pix is shorter than 3 x width x height.
func Of(pix []byte, width, height int) *Image {
	return &Image{
		Pix: pix[: Samples*width*height : Samples*width*height], Size: image.Pt(width, height),
		Bounds: image.Rect(0, 0, width, height),
	}
}

// Shared tells that Pix is somebody else's memory, which must not be written.
func (m *Image) Shared() bool { return m.lent == nil }

// Row is row y of the picture, as far as Bounds reaches.
func (m *Image) Row(y int) []byte {
	stride := Samples * m.Bounds.Dx()
	return m.Pix[(y-m.Bounds.Min.Y)*stride:][:stride:stride]
}

// Release gives the memory back to the pool that lent it. Pix is gone with it.
func (m *Image) Release() {
	if m == nil || m.lent == nil {
		return
	}
	m.pool.memory.Put(m.lent)
	m.Pix, m.lent = nil, nil
}
