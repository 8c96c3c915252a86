package decode

import (
	"encoding/binary"

	"triptych/shared/failure"
)

// checkFrames refuses a file of more frames or pages than are allowed. It walks
// the containers and looks at no pixels; it stops at the first frame too many, and
// after maxSteps parts of the container.
func (l Limits) checkFrames(format Format, data []byte) error {
	if l.Frames <= 0 {
		return nil
	}
	w := &walk{most: l.Frames}
	switch format {
	case GIF:
		w.gif(data)
	case PNG:
		w.png(data)
	case WebP:
		w.webp(data)
	case TIFF:
		w.tiff(data)
	}
	switch {
	case w.steps > maxSteps:
		return failure.New(failure.TooLarge, "the %s image has more parts than are counted", format)
	case w.frames > l.Frames:
		return failure.New(failure.TooLarge, "the %s image has more frames than the %d that are allowed", format, l.Frames)
	}
	return nil
}

// maxSteps bounds a walk. The blocks of a GIF have up to 255 bytes: a file of
// 250 MB has no more.
const maxSteps = 1 << 20

// walk counts frames. What is cut off or makes no sense ends it: the decoder will
// say so.
type walk struct {
	most   int64
	frames int64
	steps  int
}

// on tells whether to go on, and counts a step.
func (w *walk) on() bool {
	w.steps++
	return w.steps <= maxSteps && w.frames <= w.most
}

func (w *walk) gif(data []byte) {
	if len(data) < 13 {
		return
	}
	rest, ok := skipTable(data[10], data[13:])
	for ok && w.on() && len(rest) > 1 {
		switch {
		case rest[0] == gifExtension:
			rest, ok = w.skipBlocks(rest[2:])
		case rest[0] == gifImage && len(rest) >= 10:
			w.frames++
			if rest, ok = skipTable(rest[9], rest[10:]); ok && len(rest) > 0 {
				rest, ok = w.skipBlocks(rest[1:]) // behind the code size
			}
		default:
			return
		}
	}
}

// skipTable skips the color table that flags announce.
func skipTable(flags byte, data []byte) (rest []byte, ok bool) {
	n := 0
	if flags&gifHasTable != 0 {
		n = 3 << (1 + flags&7)
	}
	if len(data) < n {
		return nil, false
	}
	return data[n:], true
}

// skipBlocks is the walk's own, for it counts.
func (w *walk) skipBlocks(data []byte) (rest []byte, ok bool) {
	for w.on() && len(data) > int(firstOr(data, 0)) {
		n := int(data[0])
		if data = data[1+n:]; n == 0 {
			return data, true
		}
	}
	return nil, false
}

func firstOr(data []byte, fallback byte) byte {
	if len(data) == 0 {
		return fallback
	}
	return data[0]
}

// png reads how many frames an animation has, which stands before the pixels.
func (w *walk) png(data []byte) {
	w.frames = 1
	for at := uint64(8); w.on() && at+12 <= uint64(len(data)); {
		n, name := uint64(binary.BigEndian.Uint32(data[at:])), string(data[at+4:at+8])
		if name == "IDAT" {
			return
		}
		if name == "acTL" {
			w.frames = int64(binary.BigEndian.Uint32(data[at+8:]))
			return
		}
		at += 12 + n
	}
}

func (w *walk) webp(data []byte) {
	for at := uint64(12); w.on() && at+8 <= uint64(len(data)); {
		if string(data[at:at+4]) == "ANMF" {
			w.frames++
		}
		n := uint64(binary.LittleEndian.Uint32(data[at+4:]))
		at += 8 + n + n&1
	}
	w.frames = max(w.frames, 1)
}

// tiff follows the links from page to page. Where they run in a circle there is
// no end of pages.
func (w *walk) tiff(data []byte) {
	d, ok := openIFD(data)
	if !ok {
		return
	}
	first, _ := d.word(data[min(len(data), d.wordSize()):])
	for at := first; w.on() && at != 0 && at < uint64(len(data)); at = d.next(at) {
		w.frames++
	}
}
