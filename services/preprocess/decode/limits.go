package decode

import "triptych/shared/failure"

// Limits bound what one image may cost. All are checked before any pixel is
// decoded.
type Limits struct {
	// Bytes is the most bytes of a file.
	Bytes int64
	// Pixels is the most pixels, width times height. A decoder may hold at most
	// bytesPerPixel times as many bytes, so deep or interlaced images are refused
	// at fewer pixels.
	Pixels int64
	// Side is the most pixels of a side.
	Side int64
	// Width and Height are the most pixels of one side each, as stored. 0 is
	// whatever Side allows.
	Width, Height int64
	// Frames is the most pictures or pages of a file, of which only the first is
	// ever decoded. 0 is any number, and nothing is counted.
	Frames int64
}

// bytesPerPixel bounds the memory of a decode: the 4 bytes of the result and
// as much again for what the decoder keeps beside it.
const bytesPerPixel = 8

func (l Limits) checkBytes(n int) error {
	if int64(n) > l.Bytes {
		return failure.New(failure.TooLarge, "the image has %d bytes, at most %d are allowed", n, l.Bytes)
	}
	return nil
}

func (l Limits) check(format Format, h *header) error {
	w, ht := int64(h.width), int64(h.height)
	if w <= 0 || ht <= 0 {
		return failure.New(failure.BrokenImage, "the %s image has no pixels: its header says %dx%d", format, w, ht)
	}
	if w > l.Side || ht > l.Side {
		return failure.New(failure.TooLarge, "the %s image is %dx%d pixels, a side may have at most %d", format, w, ht, l.Side)
	}
	if l.Width > 0 && w > l.Width {
		return failure.New(failure.TooLarge, "the %s image is %dx%d pixels, it may be at most %d wide", format, w, ht, l.Width)
	}
	if l.Height > 0 && ht > l.Height {
		return failure.New(failure.TooLarge, "the %s image is %dx%d pixels, it may be at most %d high", format, w, ht, l.Height)
	}
	if w > l.Pixels/ht {
		return failure.New(failure.TooLarge, "the %s image is %dx%d pixels, at most %d in all are allowed", format, w, ht, l.Pixels)
	}
	if most := l.Pixels * bytesPerPixel; h.memory > most {
		return failure.New(failure.TooLarge, "the %s image of %dx%d pixels takes %d bytes to decode, at most %d are allowed", format, w, ht, h.memory, most)
	}
	return nil
}

// checkTables allows what is usual whatever the limits, and otherwise no more than
// the picture itself may take.
func (l Limits) checkTables(format Format, h *header, t tables) error {
	w, ht := int64(h.width), int64(h.height)
	most := min(w*ht*bytesPerPixel, l.Pixels*bytesPerPixel-h.memory)
	if t.bytes > max(most, t.usual) {
		return failure.New(failure.TooLarge, "the %s image of %dx%d pixels takes %d bytes for tables, at most %d are allowed", format, w, ht, t.bytes, max(most, t.usual))
	}
	return nil
}
