package resample_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
	"triptych/shared/testkit"
)

// golden is one call of Pillow's resize.
type golden struct {
	File          string
	Filter        resample.Filter
	Width, Height int
	SHA256        string
}

func read(t *testing.T, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(testkit.Path(t, append([]string{"testdata"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// picture decodes a sample image and turns it upright. It is nil if this build has
// no decoder with Pillow's very pixels.
func picture(t *testing.T, file string, pool *pixels.Pool) *pixels.Image {
	t.Helper()
	h, err := decode.Open(read(t, "images", file), decode.Options{Limits: decode.Limits{Bytes: 1 << 24, Pixels: 1 << 24, Side: 1 << 13}})
	if err != nil {
		t.Fatal(err)
	}
	if h.Format == decode.JPEG && decode.JPEGDecoder != "libjpeg-turbo" || h.Format == decode.WebP && decode.WebPDecoder != "libwebp" {
		return nil
	}
	img, err := h.Decode(context.Background(), pool, decode.View{})
	if err != nil {
		t.Fatal(err)
	}
	return upright(img, h.Orientation)
}

// upright turns a picture pixel by pixel.
func upright(stored *pixels.Image, orientation int) *pixels.Image {
	w, h := stored.Size.X, stored.Size.Y
	if orientation >= 5 {
		w, h = h, w
	}
	turned := pixels.Of(make([]byte, 3*w*h), w, h)
	for y := range h {
		for x := range w {
			sx, sy := x, y
			if slices.Contains([]int{2, 3, 6, 7}, orientation) {
				sx = w - 1 - x
			}
			if slices.Contains([]int{3, 4, 7, 8}, orientation) {
				sy = h - 1 - y
			}
			if orientation >= 5 {
				sx, sy = sy, sx
			}
			copy(turned.Row(y)[3*x:], stored.Row(sy)[3*sx:][:3])
		}
	}
	return turned
}

// resize makes a whole picture of another size.
func resize(t *testing.T, img *pixels.Image, width, height int, filter resample.Filter, pool *pixels.Pool) []byte {
	t.Helper()
	columns, err := resample.NewAxis(resample.Side{In: img.Size.X, Out: width, To: width, Filter: filter})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := resample.NewAxis(resample.Side{In: img.Size.Y, Out: height, To: height, Filter: filter})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 3*width*height)
	resample.Resize(img, columns, rows, resample.RowsFirst(columns, rows), resample.Canvas{Pix: out, Stride: 3 * width}, pool)
	return out
}

func TestSampleImagesResizeToPillowsPixels(t *testing.T) {
	var all struct{ Cases []golden }
	if err := json.Unmarshal(read(t, "resize.json"), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Cases) != 162 {
		t.Fatalf("%d cases, want 162", len(all.Cases))
	}
	var pool pixels.Pool
	pictures := map[string]*pixels.Image{}
	for _, g := range all.Cases {
		if _, read := pictures[g.File]; !read {
			pictures[g.File] = picture(t, g.File, &pool)
		}
		t.Run(fmt.Sprintf("%s %s %dx%d", g.File, g.Filter, g.Width, g.Height), func(t *testing.T) {
			img := pictures[g.File]
			if img == nil {
				return
			}
			if sum := sha256.Sum256(resize(t, img, g.Width, g.Height, g.Filter, &pool)); hex.EncodeToString(sum[:]) != g.SHA256 {
				t.Error("pixels differ from Pillow's")
			}
		})
	}
}

// PRE-01: a side that shrinks is averaged, unless it is told not to be.
func TestAliasedIsNotAveraged(t *testing.T) {
	img := pixels.Of(make([]byte, 3*1024*8), 1024, 8)
	for i := range img.Pix {
		if i/3%4 == 0 {
			img.Pix[i] = 255
		}
	}
	for aliased, want := range map[bool]byte{false: 64, true: 0} {
		side := resample.Side{In: 1024, Out: 256, From: 1, To: 255, Filter: resample.Bilinear, Aliased: aliased}
		columns, err := resample.NewAxis(side)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := resample.NewAxis(resample.Side{In: 8, Out: 2, To: 2, Filter: resample.Bilinear, Aliased: aliased})
		if err != nil {
			t.Fatal(err)
		}
		var pool pixels.Pool
		out := make([]byte, 3*254*2)
		resample.Resize(img, columns, rows, false, resample.Canvas{Pix: out, Stride: 3 * 254}, &pool)
		if !bytes.Equal(out, bytes.Repeat([]byte{want}, len(out))) {
			t.Errorf("aliased %v: not all samples are %d", aliased, want)
		}
	}
}
