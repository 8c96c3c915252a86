package decode

import (
	"errors"
	"image"
	"io"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// pngPass is one of the pictures in which a file brings its pixels: the only one,
// or one of Adam7's seven. It has every stepX-th pixel of every stepY-th row.
type pngPass struct{ x, y, stepX, stepY int }

var (
	pngOnce  = []pngPass{{0, 0, 1, 1}}
	pngAdam7 = []pngPass{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
)

func (f *pngFile) passes() []pngPass {
	if f.interlaced {
		return pngAdam7
	}
	return pngOnce
}

// size is that of the pass of a picture. A small picture has empty passes.
func (p pngPass) size(f *pngFile) (width, height int) {
	width, height = (f.width-p.x+p.stepX-1)/p.stepX, (f.height-p.y+p.stepY-1)/p.stepY
	if width <= 0 || height <= 0 {
		return 0, 0
	}
	return width, height
}

// unpacked is how many bytes the packed pixels have to become.
func (f *pngFile) unpacked() int64 {
	var n int64
	for _, p := range f.passes() {
		width, height := p.size(f)
		n += int64(height) * int64(1+f.rowBytes(width))
	}
	return n
}

// decode unpacks the file row by row into lent memory, as far as the view wants it.
func (f *pngFile) decode(j job) (*pixels.Image, error) {
	const densest = 1032 // deflate packs 258 bytes into 2 bits at best
	if f.unpacked() > int64(f.packed)*densest {
		return nil, broken(nil, PNG, truncated)
	}
	r := pngRows{f: f, source: &pngSource{rest: f.data}, region: j.view.Region.Intersect(image.Rect(0, 0, f.width, f.height))}
	if !f.whole { // its rows may all be there; then it is a picture
		r.region = image.Rect(0, 0, f.width, f.height)
	}
	r.unpack = f.unpacker(j.opts.Background)
	out := j.pool.Image(image.Pt(f.width, f.height), r.region)
	err := r.read(j, out)
	if err == nil {
		err = r.source.check()
	}
	if err != nil {
		out.Release()
		return nil, brokenBy(err, PNG)
	}
	return out, nil
}

// pngRows reads rows, one pass after the other.
type pngRows struct {
	f      *pngFile
	source *pngSource
	packed *zlibStream
	region image.Rectangle
	unpack pngUnpack
	// complete tells that the last pass has been read to its end.
	complete bool
}

func (r *pngRows) read(j job, out *pixels.Image) error {
	packed, err := openZlib(r.source, &unpackWork{ctx: j.ctx})
	if err != nil {
		return err
	}
	defer packed.close()
	r.packed = packed
	size := 1 + r.f.rowBytes(r.f.width)
	rows, give := j.pool.Bytes(2*size + pixels.Samples*r.f.width)
	defer give()
	for _, p := range r.f.passes() {
		if err := r.pass(j, p, out, rows[:size], rows[size:2*size], rows[2*size:]); err != nil {
			return err
		}
	}
	if r.complete {
		return packed.finish()
	}
	return nil
}

// pass reads the rows of a pass. Two rows take turns, for each is told by its
// difference to the one above; the third is for pixels that are to be scattered.
func (r *pngRows) pass(j job, p pngPass, out *pixels.Image, row, above, spread []byte) error {
	width, height := p.size(r.f)
	n := 1 + r.f.rowBytes(width)
	row, above = row[:n], above[:n]
	clear(above)
	for i := range height {
		y := p.y + i*p.stepY
		if !r.f.interlaced && y >= r.region.Max.Y {
			return nil // nobody looks at what follows
		}
		if err := failure.OfContext(j.ctx); err != nil {
			return err
		}
		if err := r.packed.fill(row); err != nil {
			return err
		}
		if err := unfilter(row, above[1:], (r.f.bits()+7)/8); err != nil {
			return err
		}
		if y >= r.region.Min.Y && y < r.region.Max.Y {
			r.place(p, width, row[1:], out.Row(y), spread)
		}
		row, above = above, row
	}
	r.complete = true
	return nil
}

// place puts the pixels of a row where they belong.
func (r *pngRows) place(p pngPass, width int, row, to, spread []byte) {
	if p.stepX == 1 {
		r.unpack(row, r.region.Min.X-p.x, to)
		return
	}
	spread = spread[:pixels.Samples*width]
	r.unpack(row, 0, spread)
	for i := range width {
		if x := p.x + i*p.stepX; x >= r.region.Min.X && x < r.region.Max.X {
			copy(to[pixels.Samples*(x-r.region.Min.X):], spread[pixels.Samples*i:][:pixels.Samples])
		}
	}
}

// pngSource gives the packed pixels chunk by chunk.
type pngSource struct {
	rest []byte
}

var errChecksum = errors.New("png: wrong checksum")

// next is the next piece of packed pixels, or io.EOF.
func (s *pngSource) next() ([]byte, error) {
	for {
		c := nextChunk(s.rest)
		if string(c.name) != "IDAT" {
			return nil, io.EOF
		}
		s.rest = c.rest
		if !c.sound() {
			return nil, errChecksum
		}
		if len(c.data) > 0 {
			return c.data, nil
		}
	}
}

// check looks at the chunks that nobody wanted.
func (s *pngSource) check() error {
	for {
		if _, err := s.next(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
