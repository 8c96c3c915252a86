package decode_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image"
	"image/jpeg"
	"slices"
	"strings"
	"testing"
	"time"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
)

// emptyBlocks is a zlib stream whose data follow some thousand blocks of deflate
// that have codes of their own and no bytes.
func emptyBlocks(tb testing.TB, thousands int, data []byte) []byte {
	tb.Helper()
	four := unhex(tb, "04c081000000000090ff6b100007020000000040feaf41001c080000000000f9bf060170200000000000e4ff1a")
	packed := zlibOf(tb, data)
	return slices.Concat(packed[:2], bytes.Repeat(four, 250*thousands), packed[2:])
}

// sharing is a TIFF file all of whose blocks are the same bytes. Directory entries
// that mean nothing stand before the others.
func sharing(tags map[uint16]uint32, blocks, nothing int, block []byte) []byte {
	const head, long, offsets, counts = 8, 4, 273, 279
	le := binary.LittleEndian
	arrays := uint32(head + len(block))
	out := le.AppendUint32([]byte("II*\x00"), arrays+uint32(2*long*blocks))
	out = append(out, block...)
	for _, v := range []uint32{head, uint32(len(block))} {
		for range blocks {
			out = le.AppendUint32(out, v)
		}
	}
	entry := func(tag uint16, count int, value uint32) {
		out = le.AppendUint16(le.AppendUint16(out, tag), long)
		out = le32(out, uint32(count), value)
	}
	out = le.AppendUint16(out, uint16(nothing+len(tags)+2))
	for range nothing {
		entry(1, 1, 0)
	}
	for tag, v := range tags {
		entry(tag, 1, v)
	}
	entry(offsets, blocks, arrays)
	entry(counts, blocks, arrays+uint32(long*blocks))
	return le.AppendUint32(out, 0)
}

// Blocks without bytes take a microsecond each, and a file has room for millions.
func TestEmptyBlocksOfDeflate(t *testing.T) {
	many := pngOf(8, 8, 8, 2, 0, emptyBlocks(t, 200, make([]byte, 8*25)))
	if _, err := decodeAll(many, options()); failure.KindOf(err) != failure.BrokenImage {
		t.Errorf("got %v, want a broken image", err)
	}
	some := pngOf(8, 8, 8, 2, 0, emptyBlocks(t, 50, make([]byte, 8*25)))
	if _, err := decodeAll(some, options()); err != nil {
		t.Errorf("some empty blocks: %v", err)
	}
}

// Codes that clear the strings of LZW are nothing else.
func TestClearCodesOfManyStrips(t *testing.T) {
	const width, rows, clears = 6000, 1000, 1000
	codes := append(slices.Repeat([]int{256}, clears), make([]int, 8)...)
	data := sharing(with(greyPage(width, rows), map[uint16]uint32{259: 5, 278: 1}), rows, 0, lzwOf(append(codes, longRuns(width)...)))
	if _, err := decodeAll(data, options()); failure.KindOf(err) != failure.BrokenImage {
		t.Errorf("got %v, want a broken image", err)
	}
}

// longRuns are codes of 9 bits of at least so many zeros: cleared before they get longer.
func longRuns(n int) (codes []int) {
	for done := 0; done < n; done += 200 * 201 / 2 {
		codes = append(codes, 256, 0)
		for next := 258; next < 258+199; next++ {
			codes = append(codes, next)
		}
	}
	return codes
}

// lzwOf writes codes of 9 bits, a multiple of 8 of them with those that end the data.
func lzwOf(codes []int) (packed []byte) {
	for len(codes)%8 != 0 || codes[len(codes)-1] != 257 {
		codes = append(codes, 257)
	}
	var bits uint64
	have := 0
	for _, code := range codes {
		for bits, have = bits<<9|uint64(code), have+9; have >= 8; have -= 8 {
			packed = append(packed, byte(bits>>(have-8)))
		}
	}
	return packed
}

// Writers may end a block after each row, however short it is.
func TestPNGFlushedAfterEachRow(t *testing.T) {
	const rows = 32_000
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	for range rows {
		_, _ = w.Write([]byte{0, 1}) // to memory
		_ = w.Flush()
	}
	_ = w.Close()
	if _, err := decodeAll(pngOf(1, rows, 8, 0, 0, packed.Bytes()), options()); err != nil {
		t.Error(err)
	}
}

// tileJPEG is a grey JPEG file.
func tileJPEG(tb testing.TB, width, height int) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// Nothing of the directory is looked for in each block.
func TestTIFFOfManyEntries(t *testing.T) {
	const side, tile, entries = 1024, 16, 65_000
	tags := with(greyPage(side, side), map[uint16]uint32{259: 7, 322: tile, 323: tile})
	took := func(entries int) time.Duration {
		data := sharing(tags, side/tile*side/tile, entries, tileJPEG(t, tile, tile))
		best := time.Hour // of some, for others may need the CPU as well
		for range 4 {
			begin := time.Now()
			if _, err := decodeAll(data, options()); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(begin))
		}
		return best
	}
	if few, many := took(0), took(entries); many > 4*few {
		t.Errorf("%v with %d more entries, and %v without", many, entries, few)
	}
}

// A block costs some microseconds, whatever it holds.
func TestTIFFOfManyBlocks(t *testing.T) {
	const side, tile, planes = 4104, 8, 4
	tags := with(greyPage(side, side), map[uint16]uint32{259: 8, 262: 5, 277: planes, 284: 2, 322: tile, 323: tile})
	data := sharing(tags, side/tile*side/tile*planes, 0, zlibOf(t, make([]byte, tile*tile)))
	_, err := decodeAll(data, options())
	if failure.KindOf(err) != failure.TooLarge || !strings.Contains(failure.Message(err), "too many blocks") {
		t.Errorf("got %v, want a refusal of so many blocks", err)
	}
}

// Packed data whose bits are turned round are copied, those of all planes at once.
func TestTIFFMemoryOfReversedBits(t *testing.T) {
	const planes = 4
	packed := make([]byte, 1<<20)
	tags := with(greyPage(64, 64), map[uint16]uint32{259: 8, 262: 5, 266: 2, 277: planes, 284: 2})
	h, err := decode.Open(sharing(tags, planes, 0, packed), options())
	if err != nil {
		t.Fatal(err)
	}
	if h.Memory < planes<<20 {
		t.Errorf("%d bytes are counted", h.Memory)
	}
}
