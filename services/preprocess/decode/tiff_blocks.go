package decode

import (
	"fmt"
	"io"
	"math/bits"

	"triptych/shared/failure"
)

// readBlocks finds out in what strips or tiles the page is stored. The page has
// a size.
func (p *tiffPage) readBlocks() error {
	if err := p.readBlockSize(); err != nil {
		return err
	}
	p.across = (p.width + p.blockWidth - 1) / p.blockWidth
	p.down = (p.height + p.blockHeight - 1) / p.blockHeight
	p.offsets, p.counts = p.dir.field(tagStripOffsets), p.dir.field(tagStripByteCounts)
	if p.tiled && p.dir.has(tagTileOffsets) {
		p.offsets, p.counts = p.dir.field(tagTileOffsets), p.dir.field(tagTileByteCounts)
	}
	p.tables = p.dir.field(tagJPEGTables).data
	if p.offsets.count() < p.across*p.down*p.planes() {
		return broken(nil, TIFF, truncated)
	}
	return nil
}

// readBlockSize refuses tiles that are far larger than the image, or so small
// that there are as many as pixels: nobody writes them but to attack.
func (p *tiffPage) readBlockSize() error {
	const padding, usual, smallest = 16, 1024, 64
	width, height := p.dir.first(tagTileWidth, 0), p.dir.first(tagTileHeight, 0)
	if width == 0 {
		p.blockWidth, p.blockHeight = p.width, int(min(p.dir.first(tagRowsPerStrip, 0), uint64(p.height)))
		if p.blockHeight == 0 {
			p.blockHeight = p.height
		}
		return nil
	}
	large := func(tile uint64, side int) bool { return tile > usual && tile > uint64(side)+padding }
	if large(width, p.width) || large(height, p.height) || width*height < smallest {
		return broken(nil, TIFF, fmt.Sprintf("corrupt: it has %dx%d pixels, but tiles of %dx%d", p.width, p.height, width, height))
	}
	p.tiled, p.blockWidth, p.blockHeight = true, int(width), int(height)
	return nil
}

// planes are how often each block is there.
func (p *tiffPage) planes() int {
	if p.apart {
		return p.samples
	}
	return 1
}

// rowBytes is the length of a row of a block, in one plane.
func (p *tiffPage) rowBytes() int64 {
	samples := p.samples
	if p.apart {
		samples = 1
	}
	return (int64(p.blockWidth)*int64(samples)*int64(p.bits) + 7) / 8
}

// unpacked is the size of all pixels.
func (p *tiffPage) unpacked() int64 {
	rows := int64(p.height) * int64(p.across) * int64(p.planes())
	return p.rowBytes() * rows
}

// stored is where a block is. Nothing but the file's end bounds pixels that are
// not packed: Pillow does not look at their count.
func (p *tiffPage) stored(index int) []byte {
	at := p.offsets.at(index)
	if at > uint64(len(p.data)) {
		return nil
	}
	rest := p.data[at:]
	if p.compression != tiffNone && index < p.counts.count() {
		rest = rest[:min(p.counts.at(index), uint64(len(rest)))]
	}
	return rest
}

// budget is how many packed bytes may be read in all. Blocks may share bytes,
// as equal tiles do, but packed bytes are not many more than the pixels. So a
// file can't make us read it over and over.
func (p *tiffPage) budget() int64 {
	const enough = 2
	return enough * (int64(len(p.data)) + p.unpacked())
}

// plausible refuses, before there is any memory, a file that is too short to
// hold as many pixels as it announces.
func (p *tiffPage) plausible() error {
	if p.effort() > mostEffort {
		return failure.New(failure.TooLarge, "the %s image of %dx%d pixels is cut into too many blocks: they are %dx%d pixels",
			TIFF, p.width, p.height, p.blockWidth, p.blockHeight)
	}
	densest := int64(1)
	switch p.compression {
	case tiffJPEG:
		return nil // its decoder knows better
	case tiffNone:
	case tiffPackBits:
		densest = 64
	case tiffCCITT, tiffGroup3, tiffGroup4:
		densest = 8 * p.rowBytes() // a bit for a row that is like the one above
	case tiffLZW:
		densest = 2600 // the longest string in 12 bits
	default:
		densest = 1032 // the longest match of deflate in 2 bits
	}
	perPlane := p.across * p.down
	for i := range perPlane * p.planes() {
		top := i % perPlane / p.across * p.blockHeight
		rows := min(p.blockHeight, p.height-top)
		if densest*int64(len(p.stored(i))) < p.rowBytes()*int64(rows) {
			return broken(nil, TIFF, truncated)
		}
	}
	return nil
}

// mostEffort is what tiles of 16x16 pixels, than which nobody writes smaller ones,
// make of 50 megapixels in three planes. It takes a second and a half.
const mostEffort = 1 << 24

// effort is what blocks cost beside their pixels: a unit, a tenth of a microsecond,
// for each of their rows, and some for each of them.
func (p *tiffPage) effort() int64 {
	const perBlock, perJPEG = 8, 32
	columns := int64(p.across) * int64(p.planes())
	if p.compression == tiffJPEG {
		return perJPEG * columns * int64(p.down)
	}
	return columns * (int64(p.height) + perBlock*int64(p.down))
}

// packed are the bytes of a block for an unpacker, in the usual order of bits.
func (d *tiffDecode) packed(index, plane, unpacker int) ([]byte, error) {
	packed := d.tiffPage.stored(plane*d.across*d.down + index)
	if d.compression == tiffNone {
		packed = packed[:min(int64(len(packed)), d.rowBytes()*int64(d.blockHeight))]
	}
	if len(packed) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if d.left -= int64(len(packed)); d.left < 0 {
		return nil, errOverlap
	}
	if !d.reversed {
		return packed, nil
	}
	flipped := d.flipped[unpacker].of(d.job.pool, len(packed))
	for i, b := range packed {
		flipped[i] = bits.Reverse8(b)
	}
	return flipped, nil
}
