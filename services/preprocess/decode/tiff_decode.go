package decode

import (
	"image"

	"triptych/services/preprocess/pixels"
)

// lentBytes is memory of the pool that grows with what is asked of it.
type lentBytes struct {
	bytes []byte
	give  func()
}

func (l *lentBytes) of(pool *pixels.Pool, n int) []byte {
	if len(l.bytes) < n {
		l.giveBack()
		l.bytes, l.give = pool.Bytes(n)
	}
	return l.bytes[:n]
}

func (l *lentBytes) giveBack() {
	if l.give != nil {
		l.give()
		*l = lentBytes{}
	}
}

// tiffDecode is the decode of a page: what is kept from block to block.
type tiffDecode struct {
	*tiffPage
	job job
	img *pixels.Image
	// wanted are the samples that are read: the color, and alpha where it counts.
	wanted []int
	// Of each plane that is read: what unpacks it, a row of the block, the row with
	// a byte for each sample where it has less, and the block with its bits turned
	// round.
	unpack              []unpacker
	rows, wide, flipped []lentBytes
	rgba                lentBytes
	left                int64 // how many more packed bytes may be read
	work                unpackWork
}

func newTIFFDecode(p *tiffPage, j job) *tiffDecode {
	d := &tiffDecode{tiffPage: p, job: j, left: p.budget(), work: unpackWork{ctx: j.ctx}}
	d.img = j.pool.Image(image.Pt(p.width, p.height), j.view.Region)
	for i := range p.colors {
		d.wanted = append(d.wanted, i)
	}
	if p.alpha > 0 && (p.premultiplied || j.opts.Background != nil) {
		d.wanted = append(d.wanted, p.alpha)
	}
	if p.compression == tiffJPEG {
		return d
	}
	planes := 1
	if p.apart {
		planes = len(d.wanted)
	}
	d.rows, d.wide, d.flipped = make([]lentBytes, planes), make([]lentBytes, planes), make([]lentBytes, planes)
	for i := range planes {
		d.rows[i].of(j.pool, int(p.rowBytes()))
		d.unpack = append(d.unpack, d.unpacker())
	}
	return d
}

// plane is which plane of the file unpacker i reads.
func (d *tiffDecode) plane(i int) int {
	if d.apart {
		return d.wanted[i]
	}
	return 0
}

func (d *tiffDecode) giveBack() {
	for _, all := range [][]lentBytes{d.rows, d.wide, d.flipped} {
		for i := range all {
			all[i].giveBack()
		}
	}
	d.rgba.giveBack()
	for _, u := range d.unpack {
		if u, ok := u.(*deflated); ok {
			u.close()
		}
	}
}
