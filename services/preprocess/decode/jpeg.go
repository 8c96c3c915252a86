package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"triptych/services/preprocess/pixels"
)

// jpegFrame is what the segments before the first scan say.
type jpegFrame struct {
	marker        byte // zero before a frame header has been seen
	precision     int
	width, height int
	components    []jpegComponent
	room          [4]jpegComponent // for as many as nearly all files have
	// scanned is how many components the first scan has, 0 if there is none.
	scanned int
	jfif    bool
	exif    []byte
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
	markerAPP0 = 0xe0
	markerAPP1 = 0xe1
	markerAPP2 = 0xe2
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

// scan walks the segments up to the first scan. Faults behind the frame header
// are left to the decoder.
func (f *jpegFrame) scan(data []byte) error {
	for at := 2; ; {
		m, segment, next, err := nextSegment(data, at)
		switch {
		case err != nil && f.marker != 0:
			return nil
		case err != nil:
			return err
		case f.marker == 0 && (m == markerEOI || m == markerSOS):
			return broken(nil, JPEG, "corrupt: it has no frame header")
		case m == markerSOS && len(segment) > 0:
			f.scanned = int(segment[0])
			return nil
		case m == markerEOI, m == markerSOS, isSOF(m) && f.marker != 0:
			return nil
		case isSOF(m):
			if err := f.read(m, segment); err != nil {
				return err
			}
		case m == markerAPP0 && bytes.HasPrefix(segment, []byte("JFIF\x00")):
			f.jfif = true
		case m == markerAPP1 && f.exif == nil && bytes.HasPrefix(segment, exifPrefix):
			f.exif = segment
		}
		at = next
	}
}

// nextSegment is the segment of the marker after data[at:], without its length,
// and where the next one begins.
func nextSegment(data []byte, at int) (marker byte, segment []byte, next int, err error) {
	marker, at, ok := nextMarker(data, at)
	switch {
	case !ok:
		return marker, nil, at, broken(nil, JPEG, truncated)
	case hasNoLength(marker) || marker == markerEOI:
		return marker, nil, at, nil
	case len(data)-at < 2:
		return marker, nil, at, broken(nil, JPEG, truncated)
	}
	n := int(binary.BigEndian.Uint16(data[at:]))
	switch {
	case n < 2:
		return marker, nil, at, broken(nil, JPEG, corrupt)
	case n > len(data)-at:
		return marker, nil, at, broken(nil, JPEG, truncated)
	}
	return marker, data[at+2 : at+n], at + n, nil
}

// read takes over a frame header.
func (f *jpegFrame) read(marker byte, segment []byte) error {
	if len(segment) < 6 || len(segment) < 6+3*int(segment[5]) {
		return broken(nil, JPEG, corrupt)
	}
	f.marker, f.precision = marker, int(segment[0])
	f.height = int(binary.BigEndian.Uint16(segment[1:]))
	f.width = int(binary.BigEndian.Uint16(segment[3:]))
	f.components = f.room[:0]
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

// wholeScan tells whether one scan holds the picture. Of any other file the
// coefficients are kept until the last scan.
func (f *jpegFrame) wholeScan() bool {
	return f.marker != markerSOF2 && f.marker != markerSOFA && f.scanned >= len(f.components)
}

func jpegHeader(data []byte) (*header, error) {
	f, err := readJPEG(data)
	if err != nil {
		return nil, err
	}
	return f.header(data), nil
}

// readJPEG reads what stands before the first scan, of a file that can be decoded.
func readJPEG(data []byte) (*jpegFrame, error) {
	f := new(jpegFrame)
	if err := f.scan(data); err != nil {
		return nil, err
	}
	if feature := f.feature(); feature != "" {
		return nil, unsupported(nil, JPEG, feature)
	}
	return f, nil
}

func (f *jpegFrame) header(data []byte) *header {
	return &header{
		width: f.width, height: f.height, memory: f.memory(), orientation: exifOrientation(f.exif),
		reductions: jpegReductions,
		pixels:     func(j job) (*pixels.Image, error) { return decodeJPEG(j, data, f) },
	}
}
