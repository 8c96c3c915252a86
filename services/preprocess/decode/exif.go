package decode

import "bytes"

// EXIF's orientations are 1 to 8.
const (
	brokenEXIF = 0
	upright    = 1

	orientationTag = 0x0112
)

// exifPrefix stands before the TIFF structure in a JPEG segment, and in WebP
// files of some writers.
var exifPrefix = []byte("Exif\x00\x00")

// exifOrientation reads the orientation from EXIF data: upright when there are
// none or they say nothing of it, brokenEXIF when they can't be read. Metadata
// never fail an image.
func exifOrientation(exif []byte) int {
	exif = bytes.TrimPrefix(exif, exifPrefix)
	if len(exif) == 0 {
		return upright
	}
	d, ok := openIFD(exif)
	if !ok {
		return brokenEXIF
	}
	return d.orientation()
}

func (d ifd) orientation() int {
	if !d.has(orientationTag) {
		return upright
	}
	if v := d.first(orientationTag, 0); v >= 1 && v <= 8 {
		return int(v)
	}
	return brokenEXIF
}
