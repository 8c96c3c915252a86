package decode

import (
	"compress/lzw"
	"image"
	"io"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// decode draws the first frame on its canvas. Around the frame, the canvas has
// the transparent color; without one, color 0, as in Pillow.
func (f *gifFile) decode(j job) (*pixels.Image, error) {
	const fewest, most = 2, 8 // bits of a code, less one
	const densest = 4096 * 8 / 3
	canvas := image.Rectangle{Max: f.canvas}
	switch {
	case f.frame.Empty() || !f.frame.In(canvas):
		return nil, broken(nil, GIF, "corrupt: its first frame does not fit the canvas")
	case f.codeBits < fewest || f.codeBits > most:
		return nil, broken(nil, GIF, corrupt)
	case f.frame.Dx()*f.frame.Dy() > len(f.codes)*densest:
		return nil, broken(nil, GIF, truncated)
	}
	out := j.pool.Image(f.canvas, j.view.Region.Intersect(canvas))
	colors := f.colors(j.opts.Background)
	if f.frame != canvas {
		pixels.Fill(out.Pix, colors[max(f.transparent, 0)])
	}
	if err := f.draw(j, colors, out); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// draw reads the frame row by row.
func (f *gifFile) draw(j job, colors *[256]Color, out *pixels.Image) error {
	indices := lzw.NewReader(&bytewise{from: &gifBlocks{rest: f.codes}}, lzw.LSB, f.codeBits)
	defer indices.Close()
	row, give := j.pool.Bytes(f.frame.Dx())
	defer give()
	for _, p := range f.passes() {
		for y := f.frame.Min.Y + p.first; y < f.frame.Max.Y; y += p.step {
			if err := failure.OfContext(j.ctx); err != nil {
				return err
			}
			if _, err := io.ReadFull(indices, row); err != nil {
				return brokenBy(err, GIF)
			}
			if y >= out.Bounds.Min.Y && y < out.Bounds.Max.Y {
				f.place(row, colors, y, out)
			}
		}
	}
	return nil
}

// place puts a row of the frame where it belongs, as far as anyone looks at it.
func (f *gifFile) place(row []byte, colors *[256]Color, y int, out *pixels.Image) {
	from, to := max(f.frame.Min.X, out.Bounds.Min.X), min(f.frame.Max.X, out.Bounds.Max.X)
	if from >= to {
		return
	}
	pix := out.Row(y)[pixels.Samples*(from-out.Bounds.Min.X):]
	for _, index := range row[from-f.frame.Min.X : to-f.frame.Min.X] {
		color := &colors[index]
		pix[0], pix[1], pix[2] = color[0], color[1], color[2]
		pix = pix[pixels.Samples:]
	}
}

// gifPass are rows that follow each other in the file.
type gifPass struct{ first, step int }

func (f *gifFile) passes() []gifPass {
	if f.interlaced {
		return []gifPass{{0, 8}, {4, 8}, {2, 4}, {1, 2}}
	}
	return []gifPass{{0, 1}}
}

// gifBlocks are data blocks up to the empty one that ends them.
type gifBlocks struct{ rest []byte }

// next implements packets.
func (b *gifBlocks) next() ([]byte, error) {
	if len(b.rest) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	n := int(b.rest[0])
	if n == 0 {
		return nil, io.EOF
	}
	there := min(n, len(b.rest)-1)
	data := b.rest[1 : 1+there]
	b.rest = b.rest[1+there:]
	return data, nil
}
