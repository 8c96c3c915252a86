package decode

import "image"

// The head of a lossless WebP bitstream (RFC 9649) says how many groups of prefix
// codes its pixels use, at the end of images of its own for the transforms and
// for the groups. Decoders keep the lookup tables of all groups: some kilobytes
// each, for 20 bits of the file. What follows reads the head and keeps none of it;
// what it can't read libwebp can't either.

const (
	vp8lMostCacheBits = 11
	// vp8lSparse is from how many groups on libwebp looks which of them are used.
	vp8lSparse = 1000
	// vp8lUsualGroups is the most that libwebp's encoder makes.
	vp8lUsualGroups = 2600
	// vp8lGroupBits is the least that the codes of a group take in the file.
	vp8lGroupBits = 5 * 4
)

// The transforms of a lossless picture.
const (
	vp8lPredictor = iota
	vp8lCrossColor
	vp8lSubtractGreen
	vp8lColorIndexing
)

// vp8lHead is what a decoder keeps of the head.
type vp8lHead struct {
	groups, cacheBits int
	// pixels are those of all images in the head.
	pixels int64
}

// tables is what the head takes, and what is usual.
func (h vp8lHead) tables() tables {
	const argb = 4
	group := webpGroupBytes(h.cacheBits)
	images := argb * h.pixels
	return tables{
		bytes: images + int64(h.groups)*group,
		usual: images + int64(min(h.groups, vp8lUsualGroups))*group,
	}
}

// vp8lReader reads a head.
type vp8lReader struct {
	vp8lBits
	head vp8lHead
	// codes are those of one image: green, red, blue, alpha and distance.
	codes   [5]vp8lCode
	lengths [vp8lMostSymbols]byte
	seen    vp8lGroups
}

// vp8lGroups are the groups that an image names.
type vp8lGroups struct {
	used     [1 << 16 / 64]uint64
	distinct int
	most     int
}

func (g *vp8lGroups) add(group int) {
	bit := uint64(1) << (group % 64)
	if g.used[group/64]&bit != 0 {
		return
	}
	g.used[group/64] |= bit
	g.distinct++
	g.most = max(g.most, group)
}

// vp8lOf reads the head of a VP8L chunk.
func vp8lOf(payload []byte, size image.Point) (vp8lHead, error) {
	const signature, side, alpha, version = 8, 14, 1, 3
	r := &vp8lReader{vp8lBits: newVP8LBits(payload)}
	for _, n := range [...]uint{signature, side, side, alpha} {
		r.read(n)
	}
	if r.read(version) != 0 {
		return vp8lHead{}, broken(nil, WebP, corrupt)
	}
	return r.level0(size)
}

// vp8lOfAlpha reads the head of an ALPH chunk. Its alpha may also be packed in no
// way; if it is in an unknown one, decoders stop there.
func vp8lOfAlpha(payload []byte, size image.Point) (vp8lHead, error) {
	const method, lossless = 3, 1
	if len(payload) < 2 || payload[0]&method != lossless {
		return vp8lHead{}, nil
	}
	r := &vp8lReader{vp8lBits: newVP8LBits(payload[1:])}
	return r.level0(size)
}

// level0 reads up to the codes of the picture itself.
func (r *vp8lReader) level0(size image.Point) (vp8lHead, error) {
	for kinds := 0; r.flag(); {
		kind := r.read(2)
		if kinds&(1<<kind) != 0 {
			return r.head, r.fault()
		}
		kinds |= 1 << kind
		if !r.transform(kind, &size) {
			return r.head, r.fault()
		}
	}
	if !r.cache() || !r.entropy(size) {
		return r.head, r.fault()
	}
	const slack = 64 // codes may end with the file
	if int64(r.seen.most+1)*vp8lGroupBits > r.left+slack {
		return r.head, broken(nil, WebP, truncated)
	}
	return r.head, nil
}

// fault is why the reader can't go on.
func (r *vp8lReader) fault() error {
	if r.left < 0 {
		return broken(nil, WebP, truncated)
	}
	return broken(nil, WebP, corrupt)
}

func (r *vp8lReader) transform(kind int, size *image.Point) bool {
	switch kind {
	case vp8lPredictor, vp8lCrossColor:
		return r.image(tiles(*size, 2+r.read(3)), nil)
	case vp8lColorIndexing:
		colors := 1 + r.read(8)
		size.X = tiles(image.Pt(size.X, 1), vp8lPacked(colors)).X
		return r.image(image.Pt(colors, 1), nil)
	}
	return true
}

// vp8lPacked is the binary logarithm of how many pixels of a palette share one.
func vp8lPacked(colors int) int {
	switch {
	case colors <= 2:
		return 3
	case colors <= 4:
		return 2
	case colors <= 16:
		return 1
	}
	return 0
}

// tiles is how many squares of 1<<bits pixels cover a picture.
func tiles(size image.Point, bits int) image.Point {
	round := 1<<bits - 1
	return image.Pt((size.X+round)>>bits, (size.Y+round)>>bits)
}

// entropy reads the image that says which group of codes a tile uses.
func (r *vp8lReader) entropy(size image.Point) bool {
	cacheBits := r.head.cacheBits
	if r.flag() && !r.image(tiles(size, 2+r.read(3)), &r.seen) {
		return false
	}
	r.head.cacheBits, r.head.groups = cacheBits, r.seen.most+1
	if r.head.groups > vp8lSparse || r.head.groups > size.X*size.Y {
		r.head.groups = r.seen.distinct
	}
	return r.left >= 0
}
