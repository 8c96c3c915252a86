package decode

import (
	"fmt"

	"triptych/services/preprocess/pixels"
)

// The tags of a TIFF file that matter here.
const (
	tagWidth           = 256
	tagHeight          = 257
	tagBits            = 258
	tagCompression     = 259
	tagPhotometric     = 262
	tagFillOrder       = 266
	tagStripOffsets    = 273
	tagSamples         = 277
	tagRowsPerStrip    = 278
	tagStripByteCounts = 279
	tagPlanar          = 284
	tagT4Options       = 292
	tagPredictor       = 317
	tagColorMap        = 320
	tagTileWidth       = 322
	tagTileHeight      = 323
	tagTileOffsets     = 324
	tagTileByteCounts  = 325
	tagExtraSamples    = 338
	tagSampleFormat    = 339
	tagJPEGTables      = 347
)

// The compressions that are read.
const (
	tiffNone       = 1
	tiffCCITT      = 2
	tiffGroup3     = 3
	tiffGroup4     = 4
	tiffLZW        = 5
	tiffOldJPEG    = 6
	tiffJPEG       = 7
	tiffDeflate    = 8
	tiffPackBits   = 32773
	tiffOldDeflate = 32946
)

// The color models that are read.
const (
	tiffWhiteIsZero = 0
	tiffBlackIsZero = 1
	tiffRGB         = 2
	tiffPalette     = 3
	tiffCMYK        = 5
	tiffYCbCr       = 6
)

// tiffPage is what the first directory of a TIFF file says.
type tiffPage struct {
	data          []byte
	dir           ifd
	width, height int
	// bits are those of a sample, samples those of a pixel, and colors are how
	// many samples are the color: the first ones.
	bits, samples, colors int
	// alpha is the place of the alpha among the samples. 0 is none.
	alpha         int
	premultiplied bool
	photometric   uint64
	compression   uint64
	predictor     uint64
	apart         bool // each sample in a plane of its own
	reversed      bool // the first pixel is in the lowest bit
	palette       colorTable

	tiled                   bool
	blockWidth, blockHeight int
	across, down            int // how many blocks
	offsets, counts         ifdField
	tables                  []byte // of JPEG, for all blocks
}

func scanTIFF(data []byte) (*tiffPage, error) {
	dir, ok := openIFD(data)
	if !ok {
		return nil, broken(nil, TIFF, truncated)
	}
	const beyond = 1 << 40 // what is too much for any limit
	p := &tiffPage{
		data: data, dir: dir,
		width:       int(min(dir.first(tagWidth, 0), beyond)),
		height:      int(min(dir.first(tagHeight, 0), beyond)),
		compression: max(dir.first(tagCompression, tiffNone), tiffNone),
		photometric: dir.first(tagPhotometric, tiffWhiteIsZero), // as Pillow takes it
		predictor:   dir.first(tagPredictor, 1),
		apart:       dir.first(tagPlanar, 1) == 2,
		reversed:    dir.first(tagFillOrder, 1) == 2,
	}
	if feature := p.readSamples(); feature != "" {
		return nil, unsupported(nil, TIFF, feature)
	}
	if feature := p.feature(); feature != "" {
		return nil, unsupported(nil, TIFF, feature)
	}
	if p.photometric == tiffPalette {
		return p, p.readPalette()
	}
	return p, nil
}

// readSamples finds out what a pixel is made of. It names what is not read.
func (p *tiffPage) readSamples() (feature string) {
	const most = 6 // as in Pillow
	switch p.photometric {
	case tiffWhiteIsZero, tiffBlackIsZero, tiffPalette:
		p.colors = 1
	case tiffRGB, tiffYCbCr:
		p.colors = 3
	case tiffCMYK:
		p.colors = 4
	case 4:
		return "a transparency mask"
	case 8, 9, 10:
		return "L*a*b* colors"
	default:
		return fmt.Sprintf("color model %d", p.photometric)
	}
	samples := p.dir.first(tagSamples, uint64(max(1, p.dir.field(tagBits).count())))
	if samples > most {
		return fmt.Sprintf("%d samples per pixel", samples)
	}
	p.samples, p.bits = int(samples), int(min(p.dir.first(tagBits, 1), 1<<16))
	for i, b := range p.dir.values(tagBits, p.samples) {
		if b != uint64(p.bits) {
			return fmt.Sprintf("samples of %d and of %d bits", p.bits, p.dir.values(tagBits, p.samples)[i])
		}
	}
	if p.samples < p.colors {
		return fmt.Sprintf("%d samples per pixel where %d are needed", p.samples, p.colors)
	}
	p.readExtra()
	return ""
}

// readExtra looks for an alpha among the samples behind the color. What is not
// said of a single one counts as alpha, as Pillow has it.
func (p *tiffPage) readExtra() {
	const associated, straight, corel = 1, 2, 999
	kinds := p.dir.values(tagExtraSamples, p.samples-p.colors)
	if len(kinds) == 0 && p.samples == p.colors+1 {
		kinds = []uint64{straight}
	}
	for i, kind := range kinds {
		if kind == associated || kind == straight || kind == corel {
			p.alpha, p.premultiplied = p.colors+i, kind == associated
			return
		}
	}
}

// readPalette keeps the upper bytes of the colors, as Pillow does.
func (p *tiffPage) readPalette() error {
	stored := p.dir.field(tagColorMap)
	n := stored.count() / pixels.Samples
	if n == 0 || stored.size != 2 {
		return broken(nil, TIFF, "corrupt: it has no palette")
	}
	for i := range min(n, 1<<p.bits) {
		p.palette.add(byte(stored.at(i)>>8), byte(stored.at(n+i)>>8), byte(stored.at(2*n+i)>>8))
	}
	return nil
}
