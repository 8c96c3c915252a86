package decode

import (
	"image"

	"triptych/services/preprocess/pixels"
)

// webpRGBA is how many samples a pixel with alpha has.
const webpRGBA = 4

// picture decodes a still picture as far as the view wants it.
func (s webpStill) picture(j job) (*pixels.Image, error) {
	out := j.pool.Image(s.size, s.part(j.view.Region))
	if err := s.draw(j, out.Bounds, out.Pix, pixels.Samples*out.Bounds.Dx()); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// onCanvas decodes a picture to its place on a larger canvas, which is black, or
// transparent.
func (s webpStill) onCanvas(j job, canvas image.Point, place image.Rectangle, transparent bool) (*pixels.Image, error) {
	out := j.pool.Whole(canvas.X, canvas.Y)
	var empty Color
	if transparent && j.opts.Background != nil {
		empty = *j.opts.Background
	}
	fill(out.Pix, empty)
	stride := pixels.Samples * canvas.X
	at := place.Min.Y*stride + pixels.Samples*place.Min.X
	if err := s.draw(j, image.Rectangle{Max: s.size}, out.Pix[at:], stride); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// part is what has to be decoded so that the pixels of a region are those of the
// whole picture: decoders smooth chroma across two pixels and take an edge of
// what they are asked for as the picture's. Of a file that is cut off everything
// is decoded, for its pixels may all be there; so is a lossy picture with alpha,
// where libwebp takes wrong alpha for parts that don't begin at the top.
func (s webpStill) part(region image.Rectangle) image.Rectangle {
	all := image.Rectangle{Max: s.size}
	if !s.whole || s.alpha && !s.lossless {
		return all
	}
	const margin = 2
	region = region.Inset(-margin)
	region.Min.X &^= 1
	region.Min.Y &^= 1
	return region.Intersect(all)
}

// draw decodes a part of the picture to rows of RGB, over the background where
// there is one.
func (s webpStill) draw(j job, part image.Rectangle, to []byte, stride int) error {
	if !s.alpha || j.opts.Background == nil {
		return decodeWebP(j.ctx, s, part, webpRows{to, stride, pixels.Samples})
	}
	width := webpRGBA * part.Dx()
	rgba, give := j.pool.Bytes(width * part.Dy())
	defer give()
	if err := decodeWebP(j.ctx, s, part, webpRows{rgba, width, webpRGBA}); err != nil {
		return err
	}
	for y := range part.Dy() {
		j.opts.Background.flatten(rgba[y*width:][:width], to[y*stride:])
	}
	return nil
}

// webpRows is where pixels go: rows of RGB or RGBA, stride bytes apart.
type webpRows struct {
	data            []byte
	stride, samples int
}
