package transform

import (
	"image"

	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
	"triptych/shared/failure"
)

// Plan is what becomes of one image, known from its size alone.
type Plan struct {
	transform *Transform
	turn      turn
	// stored is the size of the whole picture, before it is turned.
	stored   image.Point
	geometry geometry
	// shown is the part of the resized image that the result shows.
	shown image.Rectangle
	// columns and rows are the axes of the upright image, which read stored
	// pixels.
	columns, rows *resample.Axis
}

// Plan lays out what becomes of an image whose stored pixels are of the given
// size and have EXIF's orientation, 1 to 8.
func (t *Transform) Plan(stored image.Point, orientation int) (*Plan, error) {
	p := &Plan{transform: t, turn: turns[orientation], stored: stored}
	upright := p.turn.point(stored)
	var err error
	if p.geometry, err = t.spec.geometry(upright.X, upright.Y); err != nil {
		return nil, err
	}
	at := image.Pt(p.geometry.left, p.geometry.top)
	result := image.Rectangle{Min: at, Max: at.Add(image.Pt(t.spec.OutWidth, t.spec.OutHeight))}
	p.shown = result.Intersect(image.Rect(0, 0, p.geometry.width, p.geometry.height))
	return p, nil
}

// Target is the size that the image is resized to, as it is stored. A decoder
// that reduces should not go below.
func (p *Plan) Target() image.Point {
	return p.turn.point(image.Pt(p.geometry.width, p.geometry.height))
}

// Reduction is the largest of the reductions on offer with which the picture stays
// at least as large as Target on both sides, as Pillow's draft chooses it, or 1.
func (p *Plan) Reduction(offered []int) int {
	best, target := 1, p.Target()
	for _, n := range offered {
		if n > best && p.stored.X >= n*target.X && p.stored.Y >= n*target.Y {
			best = n
		}
	}
	return best
}

// Read says which part of the picture is needed, of which stored is the size as it
// will be decoded: reduced, if it is. Apply works on that picture.
func (p *Plan) Read(stored image.Point) (region image.Rectangle, err error) {
	from, filter, aliased := p.turn.point(stored), p.transform.spec.Filter, p.transform.spec.Aliased
	p.columns, err = p.transform.axes.Axis(resample.Side{
		In: from.X, Out: p.geometry.width, From: p.shown.Min.X, To: p.shown.Max.X, Filter: filter, Aliased: aliased,
		Mirrored: p.turn.mirrorsColumns,
	})
	if err != nil {
		return region, err
	}
	p.rows, err = p.transform.axes.Axis(resample.Side{
		In: from.Y, Out: p.geometry.height, From: p.shown.Min.Y, To: p.shown.Max.Y, Filter: filter, Aliased: aliased,
		Mirrored: p.turn.mirrorsRows,
	})
	if err != nil {
		return region, err
	}
	region.Min.X, region.Max.X = p.columns.Span()
	region.Min.Y, region.Max.Y = p.rows.Span()
	return p.turn.rectangle(region), nil
}

// Apply writes the result into out, which has Transform.Bytes() bytes. The picture
// has the size that Read was told, and holds at least the region that Read named.
// Its pixels are gone afterwards, unless they are shared memory.
func (p *Plan) Apply(img *pixels.Image, pool *pixels.Pool, out []byte) error {
	t := p.transform
	if len(out) != t.Bytes() {
		return failure.New(failure.Internal, "the result has %d bytes, there is room for %d", t.Bytes(), len(out))
	}
	if t.spec.Colors == Grey {
		made := grey(img, pool)
		if made != img {
			defer made.Release()
		}
		img = made
	}
	if t.layout.plain {
		p.draw(img, pool, out)
		return nil
	}
	rgb, give := pool.Bytes(t.spec.OutWidth * t.spec.OutHeight * pixels.Samples)
	defer give()
	p.draw(img, pool, rgb)
	t.layout.write(rgb, out)
	return nil
}

// draw writes the result as RGB.
func (p *Plan) draw(img *pixels.Image, pool *pixels.Pool, rgb []byte) {
	w, h := p.transform.spec.OutWidth, p.transform.spec.OutHeight
	if p.shown.Dx() < w || p.shown.Dy() < h {
		pixels.Fill(rgb, p.transform.padding)
	}
	corner := p.shown.Min.Sub(image.Pt(p.geometry.left, p.geometry.top))
	target := resample.Canvas{Pix: rgb[(corner.Y*w+corner.X)*pixels.Samples:], Stride: w * pixels.Samples}
	rowsFirst := resample.RowsFirst(p.columns, p.rows)
	if !p.turn.transposes {
		resample.Resize(img, p.columns, p.rows, rowsFirst, target, pool)
		return
	}
	stride := p.shown.Dy() * pixels.Samples
	pix, give := pool.Bytes(p.shown.Dx() * stride)
	defer give()
	lying := resample.Canvas{Pix: pix, Stride: stride}
	resample.Resize(img, p.rows, p.columns, !rowsFirst, lying, pool)
	transpose(lying, target, p.shown.Size())
}
