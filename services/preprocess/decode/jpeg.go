package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"triptych/services/preprocess/pixels"
)

// jpegFrame is what the segments before the first scan say.
type jpegFrame struct {
	marker        byte
	precision     int
	width, height int
	components    []jpegComponent
	exif          []byte
}

type jpegComponent struct{ h, v int }

// The markers of a JPEG file that matter here.
const (
	markerSOF0 = 0xc0 // baseline
	markerSOF1 = 0xc1 // extended sequential
	markerSOF2 = 0xc2 // progressive
	markerSOF9 = 0xc9 // sequential, arithmetic coding
	markerSOFA = 0xca // progressive, arithmetic coding
	markerDHT  = 0xc4
	markerJPG  = 0xc8
	markerDAC  = 0xcc
	markerEOI  = 0xd9
	markerSOS  = 0xda
	markerAPP1 = 0xe1
)

// isSOF tells whether a marker begins a frame, of whatever kind.
func isSOF(m byte) bool {
	return m >= 0xc0 && m <= 0xcf && m != markerDHT && m != markerJPG && m != markerDAC
}

// hasNoLength is true for TEM, RSTn and SOI, which stand alone.
func hasNoLength(m byte) bool { return m == 0x01 || m >= 0xd0 && m <= 0xd8 }

// nextMarker skips to the marker after data[at:], over fill bytes and stray
// bytes, as libjpeg does. It returns where the marker's segment begins.
func nextMarker(data []byte, at int) (marker byte, next int, ok bool) {
	for {
		i := bytes.IndexByte(data[min(at, len(data)):], 0xff)
		if i < 0 {
			return 0, 0, false
		}
		for at += i; at < len(data) && data[at] == 0xff; at++ {
		}
		if at >= len(data) {
			return 0, 0, false
		}
		if data[at] != 0 {
			return data[at], at + 1, true
		}
	}
}

// scanJPEG walks the segments up to the frame header. EXIF data stand before it
// in every file that cameras write; none are looked for behind it.
func scanJPEG(data []byte) (jpegFrame, error) {
	var f jpegFrame
	for at := 2; ; {
		m, next, ok := nextMarker(data, at)
		if !ok {
			return f, broken(nil, JPEG, truncated)
		}
		at = next
		if hasNoLength(m) {
			continue
		}
		if m == markerEOI || m == markerSOS {
			return f, broken(nil, JPEG, "corrupt: it has no frame header")
		}
		if len(data)-at < 2 {
			return f, broken(nil, JPEG, truncated)
		}
		n := int(binary.BigEndian.Uint16(data[at:]))
		if n < 2 {
			return f, broken(nil, JPEG, corrupt)
		}
		if n > len(data)-at {
			return f, broken(nil, JPEG, truncated)
		}
		segment := data[at+2 : at+n]
		at += n
		switch {
		case isSOF(m):
			f.marker = m
			return f, f.read(segment)
		case m == markerAPP1 && f.exif == nil && bytes.HasPrefix(segment, exifPrefix):
			f.exif = segment
		}
	}
}

// read takes over a frame header.
func (f *jpegFrame) read(segment []byte) error {
	if len(segment) < 6 || len(segment) < 6+3*int(segment[5]) {
		return broken(nil, JPEG, corrupt)
	}
	f.precision = int(segment[0])
	f.height = int(binary.BigEndian.Uint16(segment[1:]))
	f.width = int(binary.BigEndian.Uint16(segment[3:]))
	for i := range int(segment[5]) {
		sampling := segment[6+3*i+1]
		f.components = append(f.components, jpegComponent{h: int(sampling >> 4), v: int(sampling & 15)})
	}
	return nil
}

// feature names what keeps the frame from being read, if anything does.
func (f *jpegFrame) feature() string {
	switch f.marker {
	case markerSOF0, markerSOF1, markerSOF2, markerSOF9, markerSOFA:
	case 0xc3, 0xcb:
		return "lossless compression"
	default:
		return "hierarchical or lossless compression"
	}
	if f.precision != 8 {
		return fmt.Sprintf("%d bits per sample", f.precision)
	}
	if n := len(f.components); n != 1 && n != 3 && n != 4 {
		return fmt.Sprintf("%d color components", n)
	}
	return ""
}

// memory is the pixels of the result and what the decoder keeps beside them, at
// each component's own resolution: its samples, and for a progressive file all
// of its coefficients.
func (f *jpegFrame) memory() int64 {
	area := int64(f.width) * int64(f.height)
	kept := int64(jpegSampleBytes)
	if f.marker == markerSOF2 || f.marker == markerSOFA {
		kept += jpegCoefficientBytes
	}
	hmax, vmax := 1, 1
	for _, c := range f.components {
		hmax, vmax = max(hmax, c.h), max(vmax, c.v)
	}
	total := jpegResultBytes * area
	for _, c := range f.components {
		total += kept * area * int64(c.h*c.v) / int64(hmax*vmax)
	}
	return total
}

func jpegHeader(data []byte) (*header, error) {
	f, err := scanJPEG(data)
	if err != nil {
		return nil, err
	}
	if feature := f.feature(); feature != "" {
		return nil, unsupported(nil, JPEG, feature)
	}
	return &header{
		width: f.width, height: f.height, memory: f.memory(), orientation: exifOrientation(f.exif),
		pixels: func(j job) (*pixels.Image, error) { return decodeJPEG(j, data, f.width, f.height) },
	}, nil
}
