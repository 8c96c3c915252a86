package decode_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
)

// screen is a GIF header with a canvas of this size and a frame that fills it.
func screen(width, height uint16) []byte {
	le := binary.LittleEndian
	out := le.AppendUint16(le.AppendUint16([]byte("GIF89a"), width), height)
	out = append(out, 0x80, 0, 0, 0, 0, 0, 255, 255, 255, 0x2c, 0, 0, 0, 0)
	out = le.AppendUint16(le.AppendUint16(out, width), height)
	return append(out, 0, 2, 0, 0x3b)
}

// frameHeader is a JPEG file that ends behind its frame header.
func frameHeader(marker byte, width, height uint16, sampling ...byte) []byte {
	segment := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16([]byte{8}, height), width)
	segment = append(segment, byte(len(sampling)))
	for i, s := range sampling {
		segment = append(segment, byte(i+1), s, 0)
	}
	out := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, marker}, uint16(len(segment)+2))
	return append(out, segment...)
}

func bmpOf(width, height int32, bits uint16) []byte {
	le := binary.LittleEndian
	out := append([]byte("BM"), make([]byte, 8)...)
	out = le.AppendUint32(le.AppendUint32(out, 54), 40)
	out = le.AppendUint32(le.AppendUint32(out, uint32(width)), uint32(height))
	out = le.AppendUint16(le.AppendUint16(out, 1), bits)
	return append(out, make([]byte, 24)...)
}

func deflated(tb testing.TB, n int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	for block := make([]byte, 1<<20); n > 0; n -= len(block) {
		if _, err := w.Write(block[:min(n, len(block))]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// zlibOf packs some bytes.
func zlibOf(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// with changes a page's tags.
func with(page map[uint16]uint32, changes map[uint16]uint32) map[uint16]uint32 {
	for tag, v := range changes {
		page[tag] = v
	}
	return page
}

// Small files that announce a lot are refused from their headers, without the
// memory that they announce.
func TestHeaderBombs(t *testing.T) {
	const most = 4 << 20
	packed := make([]byte, 64<<10) // what it holds is never looked at
	for name, tc := range map[string]struct {
		data []byte
		kind failure.Kind
	}{
		"WebP of 28 bytes":         {unhex(t, "52494646 14000000 57454250 5650384C 08000000 2FFFFFFF 0F888808"), failure.TooLarge},
		"WebP canvas 2^24 squared": {webpOf(vp8x(2, 1<<24, 1<<24), riffChunk("ANMF", make([]byte, 40))), failure.TooLarge},
		"WebP canvas unlike frame": {webpOf(vp8x(0, 10, 10), riffChunk("VP8L", unhex(t, "2FFFFFFF0F888808"))), failure.BrokenImage},
		"PNG 20000x20000":          {pngOf(20000, 20000, 8, 6, 0, []byte{0x78, 0x9c}), failure.TooLarge},
		"PNG 20000x20000, 16 bits": {pngOf(20000, 20000, 16, 6, 0, []byte{0x78, 0x9c}), failure.TooLarge},
		"PNG within, but 16 bits":  {pngOf(7000, 7000, 16, 6, 0, []byte{0x78, 0x9c}), failure.BrokenImage},
		"PNG within, interlaced":   {pngOf(5000, 5000, 16, 2, 1, nil), failure.BrokenImage},
		"PNG 2^31-1 squared":       {pngOf(1<<31-1, 1<<31-1, 8, 6, 0, nil), failure.TooLarge},
		"PNG 2^32-1 squared":       {pngOf(1<<32-1, 1<<32-1, 16, 6, 1, nil), failure.BrokenImage},
		"PNG 0x16":                 {pngOf(0, 16, 8, 6, 0, nil), failure.BrokenImage},
		"GIF 65535x65535":          {screen(65535, 65535), failure.TooLarge},
		"GIF 0x0":                  {screen(0, 0), failure.BrokenImage},
		"JPEG 65500x65500":         {frameHeader(0xc0, 65500, 65500, 0x11), failure.TooLarge},
		"JPEG 0 rows":              {frameHeader(0xc0, 100, 0, 0x11), failure.BrokenImage},
		"JPEG many coefficients":   {frameHeader(0xc2, 7000, 7000, 0x11, 0x11, 0x11), failure.TooLarge},
		"BMP 2^31-1 squared":       {bmpOf(1<<31-1, 1<<31-1, 24), failure.TooLarge},
		"BMP top of int32":         {bmpOf(1<<31-1, -1<<31, 8), failure.TooLarge},
		"BMP 0x0":                  {bmpOf(0, 0, 24), failure.BrokenImage},
		"BMP negative width":       {bmpOf(-5, 5, 24), failure.BrokenImage},
		"TIFF 2^32-1 squared":      {tiffOf(greyPage(1<<32-1, 1<<32-1), nil), failure.TooLarge},
		"TIFF no width":            {tiffOf(greyPage(0, 8), nil), failure.BrokenImage},
		"TIFF huge tile":           {tiffOf(with(greyPage(8, 8), map[uint16]uint32{322: 32000, 323: 32000, 259: 8}), packed), failure.BrokenImage},
		"TIFF tile 2^32-1 squared": {tiffOf(with(greyPage(8, 8), map[uint16]uint32{322: 1<<32 - 1, 323: 1<<32 - 1, 259: 8}), packed), failure.BrokenImage},
		"TIFF strip of deflate":    {tiffOf(with(greyPage(7000, 7000), map[uint16]uint32{259: 8}), packed[:4096]), failure.BrokenImage},
		"TIFF 16 bits":             {tiffOf(with(greyPage(7000, 7000), map[uint16]uint32{258: 16}), packed), failure.BrokenImage},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			_, err := decodeAll(tc.data, options())
			took := time.Since(begin)
			runtime.ReadMemStats(&after)
			if err == nil || failure.KindOf(err) != tc.kind {
				t.Errorf("got %v, want %s", err, tc.kind)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > most {
				t.Errorf("allocated %d bytes, want at most %d", n, most)
			}
			if took > time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// A tile may be as large as it pleases within the image and still be a bomb.
func TestDeflatedTileStaysWithinItsTile(t *testing.T) {
	page := with(greyPage(1000, 1000), map[uint16]uint32{259: 8, 322: 1008, 323: 1008})
	packed := deflated(t, 32<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := decodeAll(tiffOf(page, packed), options())
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Errorf("a tile with too many bytes is cut off, but got %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 48<<20 {
		t.Errorf("allocated %d bytes", n)
	}
}

func TestLimitsAreSaid(t *testing.T) {
	data := read(t, "cases", "images", "base.jpg") // 96x64
	for name, tc := range map[string]struct {
		limits decode.Limits
		want   string
	}{
		"bytes":  {decode.Limits{Bytes: 1400, Pixels: 1e6, Side: 1e3}, "the image has 1401 bytes, at most 1400 are allowed"},
		"pixels": {decode.Limits{Bytes: 1e6, Pixels: 96*64 - 1, Side: 1e3}, "the JPEG image is 96x64 pixels, at most 6143 in all are allowed"},
		"side":   {decode.Limits{Bytes: 1e6, Pixels: 1e6, Side: 95}, "the JPEG image is 96x64 pixels, a side may have at most 95"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeAll(data, decode.Options{Limits: tc.limits})
			if failure.KindOf(err) != failure.TooLarge || failure.Message(err) != tc.want {
				t.Errorf("got %s %q, want %q", failure.KindOf(err), failure.Message(err), tc.want)
			}
		})
	}
	if _, err := decodeAll(data, decode.Options{Limits: decode.Limits{Bytes: 1401, Pixels: 96 * 64, Side: 96}}); err != nil {
		t.Errorf("at the limits: %v", err)
	}
}
