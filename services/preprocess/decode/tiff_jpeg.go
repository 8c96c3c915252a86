package decode

import (
	"encoding/binary"
	"image"
	"slices"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// jpegBlock decodes a block of JPEG data, or one for each plane.
func (d *tiffDecode) jpegBlock(index int, area image.Rectangle) error {
	for plane := range d.planes() {
		part, err := d.jpegPart(plane*d.across*d.down+index, area)
		if err != nil {
			return err
		}
		d.place(part, plane, area)
		part.Release()
	}
	return nil
}

// jpegPart decodes the JPEG data of a block by the JPEG codec.
func (d *tiffDecode) jpegPart(index int, area image.Rectangle) (*pixels.Image, error) {
	stored := d.stored(index)
	if d.left -= int64(len(stored) + len(d.tables)); d.left < 0 {
		return nil, broken(errOverlap, TIFF, corrupt)
	}
	stream, ok := d.jpegStream(d.tables, stored)
	if !ok {
		return nil, broken(nil, TIFF, "broken: some of its JPEG data are truncated")
	}
	f, err := readJPEG(stream)
	if err != nil {
		return nil, ofJPEG(err)
	}
	// Each block may be as much work as a file of its own.
	if !f.wholeScan() {
		return nil, unsupported(nil, TIFF, "JPEG data of several scans")
	}
	h := f.header(stream)
	// A block at the edge may be whole or cut off there.
	if h.width < area.Dx() || h.height < area.Dy() || h.width > d.blockWidth || h.height > d.blockHeight {
		return nil, broken(nil, TIFF, "corrupt: its JPEG data are of another size")
	}
	whole := View{Reduce: 1, Region: image.Rect(0, 0, h.width, h.height)}
	part, err := h.pixels(job{ctx: d.job.ctx, pool: d.job.pool, opts: d.job.opts, view: whole})
	if err != nil {
		return nil, ofJPEG(err)
	}
	return part, nil
}

// ofJPEG makes an error of the JPEG codec one of this file.
func ofJPEG(err error) error {
	switch failure.KindOf(err) {
	case failure.BrokenImage:
		return broken(err, TIFF, "broken: "+failure.Message(err))
	case failure.UnsupportedMedia:
		return unsupported(err, TIFF, "JPEG data of a kind")
	default:
		return err
	}
}

// place copies what is wanted of a block, or of a plane of it.
func (d *tiffDecode) place(part *pixels.Image, plane int, area image.Rectangle) {
	wanted := area.Intersect(d.img.Bounds)
	for y := wanted.Min.Y; y < wanted.Max.Y; y++ {
		from := part.Row(y - area.Min.Y)[pixels.Samples*(wanted.Min.X-area.Min.X):][:pixels.Samples*wanted.Dx()]
		to := d.img.Row(y)[pixels.Samples*(wanted.Min.X-d.img.Bounds.Min.X):][:len(from)]
		switch {
		case d.apart && d.colors == pixels.Samples:
			for i := plane; i < len(to); i += pixels.Samples {
				to[i] = from[i]
			}
		case d.photometric == tiffWhiteIsZero:
			for i, v := range from {
				to[i] = ^v
			}
		default:
			copy(to, from)
		}
	}
}

const markerAPP14 = 0xee

// jpegStream puts the tables that all blocks share and a block together. What
// the file says of the colors goes before what the block says: the Adobe marker
// tells it to the decoder.
func (d *tiffDecode) jpegStream(tables, block []byte) ([]byte, bool) {
	out := make([]byte, 0, len(tables)+len(block)+32)
	out = append(out, 0xff, 0xd8)
	if d.colors == pixels.Samples && !d.apart {
		const rgb, ycc = 0, 1
		transform := byte(rgb)
		if d.photometric == tiffYCbCr {
			transform = ycc
		}
		out = append(out, 0xff, markerAPP14, 0, 14)
		out = append(out, "Adobe\x00\x64\x00\x00\x00\x00"...)
		out = append(out, transform)
	}
	out, ok := appendSegments(out, tables)
	if !ok {
		return nil, false
	}
	return appendSegments(out, block)
}

// appendSegments copies the segments of a JPEG stream, but for its beginning,
// its end and what it says of the colors.
func appendSegments(out, stream []byte) ([]byte, bool) {
	for len(stream) >= 2 {
		if stream[0] != 0xff {
			return out, false
		}
		marker := stream[1]
		switch {
		case marker == 0xff:
			stream = stream[1:]
			continue
		case marker == markerEOI:
			return out, true
		case hasNoLength(marker):
			stream = stream[2:]
			continue
		case marker == markerSOS:
			return append(out, stream...), true
		case len(stream) < 4:
			return out, false
		}
		n := 2 + int(binary.BigEndian.Uint16(stream[2:]))
		if n < 4 || n > len(stream) {
			return out, false
		}
		if !slices.Contains([]byte{markerAPP0, markerAPP14}, marker) {
			out = append(out, stream[:n]...)
		}
		stream = stream[n:]
	}
	return out, len(stream) == 0
}
