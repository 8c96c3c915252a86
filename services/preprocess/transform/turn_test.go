package transform_test

import (
	"bytes"
	"fmt"
	"image"
	"testing"

	"triptych/services/preprocess/pixels/pixelstest"
	"triptych/services/preprocess/resample"
	"triptych/services/preprocess/transform"
)

// lay turns an upright image into the one that is stored with an orientation.
func lay(upright *image.NRGBA, orientation int) *image.NRGBA {
	w, h := upright.Rect.Dx(), upright.Rect.Dy()
	stored := image.NewNRGBA(image.Rect(0, 0, w, h))
	if orientation >= 5 {
		stored = image.NewNRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			sx, sy := pixelstest.Source(orientation, x, y, w, h)
			copy(stored.Pix[stored.PixOffset(sx, sy):], upright.Pix[upright.PixOffset(x, y):][:4])
		}
	}
	return stored
}

// Pictures are never turned, their axes are: the result is the same to the bit as
// if they had been turned before (DEC-09).
func TestTurnedLikeTheUprightImage(t *testing.T) {
	for _, size := range []image.Point{{97, 61}, {61, 97}, {30, 200}, {200, 31}, {20, 20}} {
		for _, filter := range []resample.Filter{resample.Nearest, resample.Bicubic} {
			spec := transform.Spec{
				Resize: transform.Shortest, Size: 25, Filter: filter, Crop: true, OutWidth: 24, OutHeight: 30, Layout: transform.NHWC,
			}
			tr, err := transform.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			upright := synthetic(size.X, size.Y)
			want := apply(t, spec, upright)
			for orientation := 2; orientation <= 8; orientation++ {
				t.Run(fmt.Sprintf("%v %s %d", size, filter, orientation), func(t *testing.T) {
					got, err := applyTurned(tr, lay(upright, orientation), orientation)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("pixels differ from those of the upright image (%v)", err)
					}
				})
			}
		}
	}
}
