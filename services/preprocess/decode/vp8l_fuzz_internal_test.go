//go:build cgo && !portable

package decode

import (
	"context"
	"encoding/binary"
	"image"
	"testing"

	"triptych/services/preprocess/pixels"
)

// FuzzVP8L is given lossless bitstreams behind their size, of a picture or of
// alpha: what libwebp decodes is never called broken.
func FuzzVP8L(f *testing.F) {
	all := stills(f)
	lossy := all["lossy.webp"]
	for _, s := range all {
		switch {
		case s.lossless && len(s.bitstream) < 8<<10:
			f.Add(s.bitstream[5:], uint8(s.size.X-1), uint8(s.size.Y-1), false)
		case len(s.packedAlpha) > 1 && len(s.packedAlpha) < 8<<10:
			f.Add(s.packedAlpha[1:], uint8(s.size.X-1), uint8(s.size.Y-1), true)
		}
	}
	f.Add([]byte{0}, uint8(0), uint8(0), false)
	f.Add([]byte{0x88, 0x88, 0x08}, uint8(40), uint8(50), false)
	f.Fuzz(func(t *testing.T, stream []byte, x, y uint8, alpha bool) {
		const lossless = 1
		var s webpStill
		if alpha {
			chunks := appendChunk(nil, "ALPH", append([]byte{lossless}, stream...))
			s = stillIn(appendChunk(chunks, "VP8 ", lossy.bitstream))
		} else {
			head := binary.LittleEndian.AppendUint32([]byte{0x2f}, uint32(x)|uint32(y)<<14)
			s = stillIn(appendChunk(nil, "VP8L", append(head, stream...)))
		}
		var pool pixels.Pool
		kept, broken := s.tables()
		if img, err := s.picture(job{ctx: context.Background(), pool: &pool, view: View{Region: image.Rectangle{Max: s.size}}}); err == nil {
			img.Release()
			if broken != nil {
				t.Fatalf("libwebp decodes what is called broken: %v", broken)
			}
		}
		if most := int64(8*len(stream)/vp8lGroupBits+8)*webpGroupBytes(vp8lMostCacheBits) + int64(s.size.X*s.size.Y)*12 + 1<<12; kept.bytes > most {
			t.Fatalf("%d bytes for %d", kept.bytes, len(stream))
		}
	})
}

func appendChunk(to []byte, name string, payload []byte) []byte {
	to = binary.LittleEndian.AppendUint32(append(to, name...), uint32(len(payload)))
	to = append(to, payload...)
	if len(payload)%2 == 1 {
		to = append(to, 0)
	}
	return to
}
