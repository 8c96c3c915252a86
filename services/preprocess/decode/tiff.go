package decode

import (
	"image"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// TIFFDecoder names what decodes TIFF, but for the JPEG data in some files.
const TIFFDecoder = "triptych"

func tiffHeader(data []byte) (*header, error) {
	p, err := scanTIFF(data)
	if err != nil {
		return nil, err
	}
	h := &header{width: p.width, height: p.height, orientation: p.dir.orientation(), pixels: p.decode}
	const widestSide = 1 << 28 // so that no product below can overflow
	if p.width > widestSide || p.height > widestSide || p.width == 0 || p.height == 0 {
		return h, nil // the limits refuse it
	}
	if err := p.readBlocks(); err != nil {
		return nil, err
	}
	h.memory = p.memory()
	return h, nil
}

// memory is the result, some rows and, for JPEG, a block and what it is made from.
// Data whose bits have to be turned round are kept, for each plane.
func (p *tiffPage) memory() int64 {
	const rows = 4
	n := pixels.Samples*int64(p.width)*int64(p.height) + rows*p.rowBytes()*int64(p.planes())
	if p.compression == tiffJPEG {
		n += pixels.Samples*int64(p.blockWidth)*int64(p.blockHeight) + int64(len(p.data))
	}
	if p.reversed {
		n += int64(p.planes()) * int64(len(p.data))
	}
	return n
}

func (p *tiffPage) decode(j job) (*pixels.Image, error) {
	if err := p.plausible(); err != nil {
		return nil, err
	}
	d := newTIFFDecode(p, j)
	defer d.giveBack()
	if err := d.blocks(); err != nil {
		d.img.Release()
		return nil, err
	}
	return d.img, nil
}

// blocks decodes the blocks that the region touches.
func (d *tiffDecode) blocks() error {
	for row, y := 0, 0; y < d.height; row, y = row+1, y+d.blockHeight {
		for column, x := 0, 0; x < d.width; column, x = column+1, x+d.blockWidth {
			area := image.Rect(x, y, min(x+d.blockWidth, d.width), min(y+d.blockHeight, d.height))
			if !area.Overlaps(d.img.Bounds) {
				continue
			}
			err := failure.OfContext(d.job.ctx)
			switch index := row*d.across + column; {
			case err != nil:
			case d.compression == tiffJPEG:
				err = d.jpegBlock(index, area)
			default:
				err = d.block(index, area)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// block unpacks a strip or a tile row by row.
func (d *tiffDecode) block(index int, area image.Rectangle) error {
	for i := range d.unpack {
		packed, err := d.packed(index, d.plane(i), i)
		if err == nil {
			err = d.unpack[i].begin(packed)
		}
		if err != nil {
			return brokenBy(err, TIFF)
		}
	}
	wanted := area.Intersect(d.img.Bounds)
	for y := area.Min.Y; y < wanted.Max.Y; y++ {
		if err := failure.OfContext(d.job.ctx); err != nil {
			return err
		}
		for i, unpack := range d.unpack {
			if err := unpack.read(d.rows[i].bytes); err != nil {
				return brokenBy(err, TIFF)
			}
			d.predict(d.rows[i].bytes)
		}
		if y < wanted.Min.Y {
			continue
		}
		at := pixels.Samples * (wanted.Min.X - d.img.Bounds.Min.X)
		if err := d.convert(wanted.Min.X-area.Min.X, d.img.Row(y)[at:][:pixels.Samples*wanted.Dx()]); err != nil {
			return err
		}
	}
	return nil
}
