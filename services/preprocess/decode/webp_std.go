//go:build !cgo || portable

package decode

import (
	"bytes"
	"image"

	"golang.org/x/image/webp"
)

// WebPDecoder names what decodes WebP in this build.
const WebPDecoder = "golang.org/x/image/webp"

// decodeWebP decodes a still image by Go's own decoder, for builds without C
// libraries.
func decodeWebP(data []byte, width, height int) (*image.NRGBA, error) {
	img, err := webp.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, brokenBy(err, WebP)
	}
	if img.Bounds() != image.Rect(0, 0, width, height) {
		return nil, broken(nil, WebP, corrupt)
	}
	switch m := img.(type) {
	case *image.YCbCr:
		return studioRGB(m), nil
	case *image.NYCbCrA:
		return studioRGB(&m.YCbCr), nil
	default:
		return straight(img)
	}
}

// studioRGB converts the pixels of a lossy file, whose luma runs from 16 to 235
// (BT.601), with libwebp's own numbers. Go's color.YCbCr takes them for 0 to
// 255 (golang.org/issue/40173), which loses contrast.
func studioRGB(m *image.YCbCr) *image.NRGBA {
	out := image.NewNRGBA(m.Rect)
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			c := m.COffset(x, y)
			luma, cb, cr := int(m.Y[m.YOffset(x, y)])*19077>>8, int(m.Cb[c]), int(m.Cr[c])
			p := out.Pix[out.PixOffset(x, y):]
			p[0] = clip(luma + cr*26149>>8 - 14234)
			p[1] = clip(luma - cb*6419>>8 - cr*13320>>8 + 8708)
			p[2] = clip(luma + cb*33050>>8 - 17685)
			p[3] = 255
		}
	}
	return out
}

// clip drops the 6 bits behind the point and keeps the result in a byte.
func clip(v int) byte { return byte(min(max(v>>6, 0), 255)) }
