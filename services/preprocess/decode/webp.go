package decode

import (
	"encoding/binary"
	"image"
	"image/draw"

	"triptych/services/preprocess/pixels"
)

// webpFile is what the chunks of a WebP file say of it.
type webpFile struct {
	// canvas is the size that a VP8X chunk gives, zero without one.
	canvas image.Point
	// size is that of the first bitstream.
	size image.Point
	// frame is the payload of the first frame of an animation.
	frame []byte
	exif  []byte
}

// eachChunk calls do for every chunk that is there in full; of the last one that
// is cut off, for what is left.
func eachChunk(data []byte, do func(name string, payload []byte)) {
	for len(data) >= 8 {
		n := int64(binary.LittleEndian.Uint32(data[4:]))
		payload := data[8:]
		do(string(data[:4]), payload[:min(n, int64(len(payload)))])
		if n += n & 1; n >= int64(len(payload)) {
			return
		}
		data = payload[n:]
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

func scanWebP(data []byte) webpFile {
	var f webpFile
	eachChunk(data[12:], func(name string, payload []byte) {
		switch {
		case name == "VP8X" && len(payload) >= 10:
			f.canvas = image.Pt(uint24(payload[4:])+1, uint24(payload[7:])+1)
		case (name == "VP8 " || name == "VP8L") && f.size == image.Point{}:
			f.size = bitstreamSize(name, payload)
		case name == "ANMF" && f.frame == nil:
			f.frame = payload
		case name == "EXIF" && f.exif == nil:
			f.exif = payload
		}
	})
	return f
}

// webpMemory counts per pixel the result, and as much for what a decoder keeps.
const webpMemory = 8

func webpHeader(data []byte) (*header, error) {
	f := scanWebP(data)
	h := &header{orientation: exifOrientation(f.exif)}
	if f.frame != nil && f.canvas != (image.Point{}) {
		h.width, h.height = f.canvas.X, f.canvas.Y
		h.memory = int64(h.width) * int64(h.height) * webpMemory
		h.pixels = f.firstFrame
		return h, nil
	}
	if f.size == (image.Point{}) {
		return nil, broken(nil, WebP, "truncated or corrupt: it has no bitstream")
	}
	if f.canvas != (image.Point{}) && f.canvas != f.size {
		return nil, broken(nil, WebP, "corrupt: its canvas and its pixels differ in size")
	}
	h.width, h.height = f.size.X, f.size.Y
	h.memory = int64(h.width) * int64(h.height) * webpMemory
	h.pixels = func(j job) (*pixels.Image, error) {
		img, err := decodeWebP(data, h.width, h.height)
		if err != nil {
			return nil, err
		}
		return j.flatten(img), nil
	}
	return h, nil
}

// firstFrame decodes the first frame of an animation on its canvas, which is
// black, as in Pillow, where the frame does not reach.
func (f *webpFile) firstFrame(j job) (*pixels.Image, error) {
	const head = 16 // place, size, duration and flags
	if len(f.frame) < head {
		return nil, broken(nil, WebP, truncated)
	}
	size := image.Pt(uint24(f.frame[6:])+1, uint24(f.frame[9:])+1)
	place := image.Rectangle{Max: size}.Add(image.Pt(2*uint24(f.frame), 2*uint24(f.frame[3:])))
	bounds := image.Rectangle{Max: f.canvas}
	still, coded := stillOf(f.frame[head:], size)
	if coded != size || !place.In(bounds) {
		return nil, broken(nil, WebP, "corrupt: its first frame does not fit the canvas")
	}
	frame, err := decodeWebP(still, size.X, size.Y)
	if err != nil {
		return nil, err
	}
	if place == bounds {
		return j.flatten(frame), nil
	}
	canvas := image.NewNRGBA(bounds)
	draw.Draw(canvas, place, frame, image.Point{}, draw.Src)
	return j.flatten(canvas), nil
}

// stillOf wraps the chunks of a frame into a file of their own, and tells the
// size that its bitstream has.
func stillOf(chunks []byte, size image.Point) (file []byte, coded image.Point) {
	le := binary.LittleEndian
	file = append(file, "RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	w, h := uint32(size.X-1), uint32(size.Y-1)
	file[24], file[25], file[26] = byte(w), byte(w>>8), byte(w>>16)
	file[27], file[28], file[29] = byte(h), byte(h>>8), byte(h>>16)
	eachChunk(chunks, func(name string, payload []byte) {
		switch name {
		case "ALPH":
			file[20] = 0x10 // the file has alpha
		case "VP8 ", "VP8L":
			coded = bitstreamSize(name, payload)
		default:
			return
		}
		file = append(le.AppendUint32(append(file, name...), uint32(len(payload))), payload...)
		if len(payload)%2 == 1 {
			file = append(file, 0)
		}
	})
	le.PutUint32(file[4:], uint32(len(file)-8))
	return file, coded
}
