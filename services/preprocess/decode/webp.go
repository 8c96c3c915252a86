package decode

import (
	"encoding/binary"
	"image"

	"triptych/services/preprocess/pixels"
)

// webpFile is what the chunks of a WebP file say of it.
type webpFile struct {
	// canvas is the size that a VP8X chunk gives, zero without one.
	canvas image.Point
	// alpha is what that chunk says of alpha.
	alpha bool
	still webpStill
	// frame is the payload of the first frame of an animation.
	frame   []byte
	exif    []byte
	profile []byte
}

// webpStill is a still picture inside a WebP file: a bitstream, and perhaps the
// alpha of a lossy one before it.
type webpStill struct {
	// data are the chunks, from the first of both on.
	data []byte
	size image.Point
	// lossless is a VP8L bitstream, which may have alpha of its own.
	lossless, alpha bool
	// whole tells that no byte is missing.
	whole bool
}

// eachChunk calls do for every chunk that is there in full; of the last one that
// is cut off, for what is left. At is where the chunk begins.
func eachChunk(data []byte, do func(name string, at int, payload []byte, whole bool)) {
	const head = 8
	for at := 0; len(data)-at >= head; {
		n := int64(binary.LittleEndian.Uint32(data[at+4:]))
		payload := data[at+head:]
		there := min(n, int64(len(payload)))
		do(string(data[at:at+4]), at, payload[:there], there == n)
		if n += n & 1; n >= int64(len(payload)) {
			return
		}
		at += head + int(n)
	}
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// bitstreamSize reads the size from the first bytes of a VP8 or VP8L chunk.
func bitstreamSize(name string, b []byte) image.Point {
	switch {
	case name == "VP8 " && len(b) >= 10 && string(b[3:6]) == "\x9d\x01\x2a":
		return image.Pt(int(binary.LittleEndian.Uint16(b[6:]))&0x3fff, int(binary.LittleEndian.Uint16(b[8:]))&0x3fff)
	case name == "VP8L" && len(b) >= 5 && b[0] == 0x2f:
		bits := binary.LittleEndian.Uint32(b[1:])
		return image.Pt(int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1)
	}
	return image.Point{}
}

// stillIn finds the first bitstream among chunks. Its size is zero where there
// is none.
func stillIn(chunks []byte) webpStill {
	var s webpStill
	begin := -1
	eachChunk(chunks, func(name string, at int, payload []byte, whole bool) {
		if s.size != (image.Point{}) {
			return
		}
		switch name {
		case "ALPH":
			if begin < 0 {
				begin, s.alpha = at, true
			}
		case "VP8 ", "VP8L":
			s.size = bitstreamSize(name, payload)
			s.lossless, s.whole = name == "VP8L", whole
			if s.lossless && len(payload) >= 5 {
				const alphaIsUsed = 1 << 4
				begin, s.alpha = at, payload[4]&alphaIsUsed != 0
			}
			if begin < 0 {
				begin = at
			}
			s.data = chunks[begin : at+8+len(payload)]
		}
	})
	return s
}

func scanWebP(data []byte) webpFile {
	const alphaFlag = 1 << 4
	var f webpFile
	eachChunk(data[12:], func(name string, _ int, payload []byte, _ bool) {
		switch {
		case name == "VP8X" && len(payload) >= 10 && f.canvas == (image.Point{}):
			f.alpha = payload[0]&alphaFlag != 0
			f.canvas = image.Pt(uint24(payload[4:])+1, uint24(payload[7:])+1)
		case name == "ANMF" && f.frame == nil:
			f.frame = payload
		case name == "EXIF" && f.exif == nil:
			f.exif = payload
		case name == "ICCP" && f.profile == nil:
			f.profile = payload
		}
	})
	f.still = stillIn(data[12:])
	return f
}

// memory is that of what the decoder keeps, and of the pixels with alpha that
// are laid over a background. Beside that, the prefix codes of a lossless picture
// that is made for it take up to 380 MB, of which the file's head tells nothing.
func (s webpStill) memory() (kept, overlay int64) {
	area := int64(s.size.X) * int64(s.size.Y)
	switch {
	case s.lossless:
		kept = webpLosslessBytes
	case s.alpha:
		kept = webpLossyBytes + webpAlphaBytes
	default:
		kept = webpLossyBytes
	}
	if s.alpha {
		overlay = webpRGBA
	}
	return kept * area, overlay * area
}

func webpHeader(data []byte) (*header, error) {
	f := scanWebP(data)
	h := &header{orientation: exifOrientation(f.exif)}
	if f.frame != nil && f.canvas != (image.Point{}) {
		return h, f.animation(h)
	}
	if f.still.size == (image.Point{}) {
		return nil, broken(nil, WebP, "truncated or corrupt: it has no bitstream")
	}
	if f.canvas != (image.Point{}) && f.canvas != f.still.size {
		return nil, broken(nil, WebP, "corrupt: its canvas and its pixels differ in size")
	}
	if !f.still.lossless { // alpha that the file does not announce is none
		f.still.alpha = f.still.alpha && f.alpha
	}
	f.place(h, f.still, f.still.size, image.Rectangle{Max: f.still.size})
	return h, nil
}

// animation sets the header up for the first frame of an animation on its
// canvas. As in Pillow, the canvas is transparent black where the frame does not
// reach.
func (f *webpFile) animation(h *header) error {
	const head = 16 // place, size, duration and flags
	h.width, h.height = f.canvas.X, f.canvas.Y
	if len(f.frame) < head {
		return broken(nil, WebP, truncated)
	}
	size := image.Pt(uint24(f.frame[6:])+1, uint24(f.frame[9:])+1)
	place := image.Rectangle{Max: size}.Add(image.Pt(2*uint24(f.frame), 2*uint24(f.frame[3:])))
	still := stillIn(f.frame[head:])
	still.alpha = still.alpha && f.alpha
	if still.size == size && place.In(image.Rectangle{Max: f.canvas}) {
		f.place(h, still, f.canvas, place)
		return nil
	}
	if int64(f.canvas.X)*int64(f.canvas.Y) > 1<<31 { // the limits have a better word for it
		return nil
	}
	return broken(nil, WebP, "corrupt: its first frame does not fit the canvas")
}

// place sets the header up for a picture at its place on a canvas.
func (f *webpFile) place(h *header, still webpStill, canvas image.Point, place image.Rectangle) {
	h.width, h.height = canvas.X, canvas.Y
	h.memory, h.overlay = still.memory()
	h.memory += pixels.Samples * int64(canvas.X) * int64(canvas.Y)
	h.pixels = func(j job) (*pixels.Image, error) {
		if place == (image.Rectangle{Max: canvas}) {
			return still.picture(j)
		}
		return still.onCanvas(j, canvas, place, f.alpha)
	}
}
