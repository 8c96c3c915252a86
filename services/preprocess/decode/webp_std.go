//go:build !cgo || portable

package decode

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"

	"github.com/disintegration/imaging"
	"golang.org/x/image/webp"

	"triptych/services/preprocess/pixels"
)

// WebPDecoder names what decodes WebP in this build.
const WebPDecoder = "golang.org/x/image/webp"

// The bytes per pixel that Go's decoder keeps beside the result: all planes of a
// lossy picture, and for alpha a lossless picture beside them.
const (
	webpLossyBytes    = 3
	webpAlphaBytes    = 1 + 8
	webpLosslessBytes = 8
)

// decodeWebP decodes a still picture by Go's own decoder, for builds without C
// libraries. It can't be stopped before its end.
func decodeWebP(_ context.Context, s webpStill, part image.Rectangle, to webpRows) error {
	img, err := webp.Decode(bytes.NewReader(s.file()))
	if err != nil {
		return brokenBy(err, WebP)
	}
	if img.Bounds() != (image.Rectangle{Max: s.size}) {
		return broken(nil, WebP, corrupt)
	}
	switch m := img.(type) {
	case *image.YCbCr:
		studioRGB(m, nil, part, to)
	case *image.NYCbCrA:
		studioRGB(&m.YCbCr, m, part, to)
	default:
		plain := imaging.Clone(img)
		for y := range part.Dy() {
			row := plain.Pix[plain.PixOffset(part.Min.X, part.Min.Y+y):][:4*part.Dx()]
			if to.samples == webpRGBA {
				copy(to.data[y*to.stride:], row)
			} else {
				dropAlpha(row, to.data[y*to.stride:])
			}
		}
	}
	return nil
}

// file wraps the chunks of the picture into a file.
func (s webpStill) file() []byte {
	out := []byte("RIFF\x00\x00\x00\x00WEBP")
	if !s.lossless {
		out = append(out, "VP8X\x0a\x00\x00\x00\x00\x00\x00\x00"...)
		if s.alpha {
			out[20] = 0x10
		}
		w, h := uint32(s.size.X-1), uint32(s.size.Y-1)
		out = append(out, byte(w), byte(w>>8), byte(w>>16), byte(h), byte(h>>8), byte(h>>16))
	}
	eachChunk(s.data, func(name string, _ int, payload []byte, _ bool) {
		if name != "VP8 " && name != "VP8L" && (name != "ALPH" || !s.alpha) {
			return
		}
		out = binary.LittleEndian.AppendUint32(append(out, name...), uint32(len(payload)))
		out = append(out, payload...)
		if len(payload)%2 == 1 {
			out = append(out, 0)
		}
	})
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

// studioRGB converts the pixels of a lossy file, whose luma runs from 16 to 235
// (BT.601), with libwebp's own numbers. Go's color.YCbCr takes them for 0 to
// 255 (golang.org/issue/40173), which loses contrast.
func studioRGB(m *image.YCbCr, alpha *image.NYCbCrA, part image.Rectangle, to webpRows) {
	for y := part.Min.Y; y < part.Max.Y; y++ {
		p := to.data[(y-part.Min.Y)*to.stride:]
		for x := part.Min.X; x < part.Max.X; x++ {
			c := m.COffset(x, y)
			luma, cb, cr := int(m.Y[m.YOffset(x, y)])*19077>>8, int(m.Cb[c]), int(m.Cr[c])
			p[0] = clip(luma + cr*26149>>8 - 14234)
			p[1] = clip(luma - cb*6419>>8 - cr*13320>>8 + 8708)
			p[2] = clip(luma + cb*33050>>8 - 17685)
			if to.samples == webpRGBA {
				p[pixels.Samples] = 255
				if alpha != nil {
					p[pixels.Samples] = alpha.A[alpha.AOffset(x, y)]
				}
			}
			p = p[min(to.samples, len(p)):]
		}
	}
}

// clip drops the 6 bits behind the point and keeps the result in a byte.
func clip(v int) byte { return byte(min(max(v>>6, 0), 255)) }
