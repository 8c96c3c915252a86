package decode_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"image"
	"os"
	"path/filepath"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/pixels/pixelstest"
	"triptych/shared/testkit"
)

// options are the limits that the service has by default.
func options() decode.Options {
	return decode.Options{Limits: decode.Limits{Bytes: 32 << 20, Pixels: 50_000_000, Side: 32_768}}
}

// decoded is a header and its pixels, turned upright.
type decoded struct {
	decode.Header
	Image *image.NRGBA
}

// decodeAll opens and decodes a file, as the service does in two steps.
func decodeAll(data []byte, opts decode.Options) (decoded, error) {
	h, err := decode.Open(data, opts)
	if err != nil {
		return decoded{Header: h}, err
	}
	var pool pixels.Pool
	img, err := h.Decode(context.Background(), &pool, decode.View{})
	if err != nil {
		return decoded{Header: h}, err
	}
	defer img.Release()
	return decoded{Header: h, Image: upright(img, h.Orientation)}, nil
}

// upright turns a picture pixel by pixel.
func upright(img *pixels.Image, orientation int) *image.NRGBA {
	w, h := img.Size.X, img.Size.Y
	if orientation >= 5 {
		w, h = h, w
	}
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			sx, sy := pixelstest.Source(orientation, x, y, w, h)
			copy(out.Pix[out.PixOffset(x, y):], img.Row(sy)[3*sx:][:3])
			out.Pix[out.PixOffset(x, y)+3] = 255
		}
	}
	return out
}

// expected is what Pillow makes of the sample images.
type expected struct {
	File          string `json:"file"`
	Width         int    `json:"width"`
	Height        int    `json:"height"`
	DecodedSHA256 string `json:"decoded_sha256"`
}

func readExpected(tb testing.TB) []expected {
	tb.Helper()
	var all struct{ Images []expected }
	if err := json.Unmarshal(read(tb, "expected.json"), &all); err != nil {
		tb.Fatal(err)
	}
	return all.Images
}

// read is a file under testdata.
func read(tb testing.TB, elements ...string) []byte {
	tb.Helper()
	data, err := os.ReadFile(testkit.Path(tb, append([]string{"testdata"}, elements...)...))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func cases(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob(testkit.Path(tb, "testdata", "cases", "images", "*"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no case images: %v", err)
	}
	return files
}

// rgb is the image without alpha.
func rgb(img *image.NRGBA) []byte {
	out := make([]byte, 0, len(img.Pix)/4*3)
	for y := range img.Rect.Dy() {
		row := img.Pix[y*img.Stride:][:4*img.Rect.Dx()]
		for x := 0; x < len(row); x += 4 {
			out = append(out, row[x:x+3]...)
		}
	}
	return out
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// at is the color of a pixel without alpha.
func at(img *image.NRGBA, x, y int) [3]byte {
	return [3]byte(img.Pix[img.PixOffset(x, y):])
}

// exact tells whether this build decodes a format to Pillow's very pixels.
func exact(format decode.Format) bool {
	switch format {
	case decode.JPEG:
		return decode.JPEGDecoder == "libjpeg-turbo"
	case decode.WebP:
		return decode.WebPDecoder == "libwebp"
	default:
		return true
	}
}

func TestSampleImagesDecodeToPillowsPixels(t *testing.T) {
	for _, want := range readExpected(t) {
		t.Run(want.File, func(t *testing.T) {
			got, err := decodeAll(read(t, "images", want.File), options())
			if err != nil {
				t.Fatal(err)
			}
			if size := got.Image.Rect.Size(); size != image.Pt(want.Width, want.Height) {
				t.Errorf("size is %v, want %dx%d", size, want.Width, want.Height)
			}
			if exact(got.Format) && sum(rgb(got.Image)) != want.DecodedSHA256 {
				t.Errorf("pixels differ from Pillow's")
			}
		})
	}
}
