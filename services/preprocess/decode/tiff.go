package decode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"slices"

	"golang.org/x/image/tiff"

	"triptych/services/preprocess/pixels"
)

// The tags of a TIFF file that matter here.
const (
	tagWidth           = 256
	tagHeight          = 257
	tagBits            = 258
	tagCompression     = 259
	tagPhotometric     = 262
	tagRowsPerStrip    = 278
	tagStripByteCounts = 279
	tagPlanar          = 284
	tagTileWidth       = 322
	tagTileHeight      = 323
	tagTileByteCounts  = 325
	tagExtraSamples    = 338
	tagSampleFormat    = 339
)

// tiffFile is the first page of a TIFF file.
type tiffFile struct {
	dir           ifd
	width, height int64
	bits          []uint32
	compression   uint32
	photometric   uint32
}

func scanTIFF(data []byte) (tiffFile, error) {
	dir, ok := openIFD(data)
	if !ok {
		return tiffFile{}, broken(nil, TIFF, truncated)
	}
	f := tiffFile{
		dir: dir, width: int64(dir.first(tagWidth, 0)), height: int64(dir.first(tagHeight, 0)),
		bits:        dir.values(tagBits, 16),
		compression: dir.first(tagCompression, 1), photometric: dir.first(tagPhotometric, 1),
	}
	if len(f.bits) == 0 {
		f.bits = []uint32{1}
	}
	return f, nil
}

// feature names what keeps the page from being read, if anything does.
func (f *tiffFile) feature() string {
	if f.compression == 6 || f.compression == 7 {
		return "JPEG compression inside"
	}
	if c := f.compression; !slices.Contains([]uint32{0, 1, 3, 4, 5, 8, 32773, 32946}, c) {
		return fmt.Sprintf("compression %d", c)
	}
	for _, format := range f.dir.values(tagSampleFormat, 16) {
		if format != 1 {
			return "samples that are not unsigned whole numbers"
		}
	}
	if names := map[uint32]string{4: "a transparency mask", 5: "CMYK colors", 6: "YCbCr colors", 8: "L*a*b* colors"}; f.photometric > 3 {
		if name, ok := names[f.photometric]; ok {
			return name
		}
		return fmt.Sprintf("color model %d", f.photometric)
	}
	if !slices.Contains([]uint32{1, 8, 16}, f.bits[0]) {
		return fmt.Sprintf("%d bits per sample", f.bits[0])
	}
	return f.sampleFeature()
}

func (f *tiffFile) sampleFeature() string {
	if len(f.bits) > 1 && f.dir.first(tagPlanar, 1) == 2 {
		return "its color planes stored apart"
	}
	if f.photometric != 2 && len(f.bits) != 1 {
		return "an extra sample beside grey, such as alpha"
	}
	if extra := f.dir.first(tagExtraSamples, 0); len(f.bits) > 4 || len(f.bits) == 4 && extra != 1 && extra != 2 {
		return "extra samples of unknown meaning"
	}
	return ""
}

// block is the size of a tile, or of a strip. A tile that is far larger than
// the image is nothing but an attack.
func (f *tiffFile) block() (width, height int64, err error) {
	width, height = int64(f.dir.first(tagTileWidth, 0)), int64(f.dir.first(tagTileHeight, 0))
	if width == 0 {
		rows := int64(f.dir.first(tagRowsPerStrip, 0))
		if rows == 0 || rows > f.height {
			rows = f.height
		}
		return f.width, rows, nil
	}
	const padding, usual = 16, 1024
	if (width-f.width > padding || height-f.height > padding) && (width > usual || height > usual) {
		return 0, 0, broken(nil, TIFF, fmt.Sprintf("corrupt: it has %dx%d pixels, but tiles of %dx%d", f.width, f.height, width, height))
	}
	return width, height, nil
}

// memory is the page, its converted copy where one is needed, and the most that
// a compressed tile or strip can grow to.
func (f *tiffFile) memory(blockWidth, blockHeight int64) int64 {
	perPixel := int64(4)
	switch {
	case f.bits[0] == 16:
		perPixel = 8 + 4
	case len(f.bits) == 1:
		perPixel = 1 + 4
	case len(f.bits) == 4:
		perPixel = 4 + 4
	}
	return f.width*f.height*perPixel + f.unpacked(blockWidth*blockHeight)
}

func (f *tiffFile) unpacked(blockPixels int64) int64 {
	const (
		widest  = 8    // bytes per pixel that x/image/tiff reads at most
		densest = 1400 // no compression does better: LZW's longest string in 12 bits
		growing = 2    // old and new memory of a buffer that grows
	)
	switch f.compression {
	case 0, 1:
		return 0
	case 3, 4: // fax: exactly one bit per pixel
		return blockPixels / 8 * growing
	}
	var largest int64
	for _, tag := range []uint16{tagStripByteCounts, tagTileByteCounts} {
		for _, n := range f.dir.values(tag, len(f.dir.data)) {
			largest = max(largest, min(int64(n), int64(len(f.dir.data))))
		}
	}
	return min(blockPixels*widest, largest*densest) * growing
}

func tiffHeader(data []byte) (*header, error) {
	f, err := scanTIFF(data)
	if err != nil {
		return nil, err
	}
	if feature := f.feature(); feature != "" {
		return nil, unsupported(nil, TIFF, feature)
	}
	h := &header{
		width: int(f.width), height: int(f.height), orientation: f.dir.orientation(),
		pixels: func(j job) (*pixels.Image, error) { return f.decode(j, data) },
	}
	const widestSide = 1 << 28 // so that no product below can overflow
	if f.width > widestSide || f.height > widestSide {
		return h, nil // the limits refuse it
	}
	blockWidth, blockHeight, err := f.block()
	if err != nil {
		return nil, err
	}
	h.memory = f.memory(blockWidth, blockHeight)
	return h, nil
}

func (f *tiffFile) decode(j job, data []byte) (*pixels.Image, error) {
	img, err := tiff.Decode(bytes.NewReader(data))
	var feature tiff.UnsupportedError
	if errors.As(err, &feature) {
		return nil, unsupported(err, TIFF, "an unsupported "+string(feature))
	}
	if err != nil {
		return nil, brokenBy(err, TIFF)
	}
	if grey, ok := img.(*image.Gray); ok && f.reversed() {
		for i, v := range grey.Pix {
			grey.Pix[i] = ^v
		}
	}
	picture, err := j.picture(img)
	if err != nil {
		return nil, broken(err, TIFF, corrupt)
	}
	return picture, nil
}

// reversed is true for fax pages that are to be shown as negatives. A white run
// is the value 0, which BlackIsZero makes black (TIFF 6.0, section 11; libtiff
// too), but x/image/tiff shows it white.
func (f *tiffFile) reversed() bool {
	const blackIsZero = 1
	return (f.compression == 3 || f.compression == 4) && f.photometric == blackIsZero
}
