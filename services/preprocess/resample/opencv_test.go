package resample_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
)

// synthetic is the image that testdata/make_resample.py gives to OpenCV.
func synthetic(width, height int) *pixels.Image {
	img := pixels.Of(make([]byte, 3*width*height), width, height)
	for y := range height {
		row := img.Row(y)
		for x := range width {
			for c := range 3 {
				row[3*x+c] = byte((x*x*31 + y*y*17 + x*y*7 + c*85) % 251)
			}
		}
	}
	return img
}

func TestOpenCVLinearEqualsOpenCV(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "resample", "opencv.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		From, To [2]int
		SHA256   string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	var pool pixels.Pool
	for _, g := range cases {
		t.Run(fmt.Sprintf("%v to %v", g.From, g.To), func(t *testing.T) {
			out := resize(t, synthetic(g.From[0], g.From[1]), g.To[0], g.To[1], resample.OpenCVLinear, &pool)
			if sum := sha256.Sum256(out); hex.EncodeToString(sum[:]) != g.SHA256 {
				t.Error("pixels differ from OpenCV's")
			}
		})
	}
}

// A part of a picture that is stored turned must be the very pixels that the whole
// upright picture gives there.
func TestOpenCVLinearOfTurnedParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var pool pixels.Pool
	for range 300 {
		from, to := image.Pt(1+r.IntN(40), 1+r.IntN(40)), image.Pt(1+r.IntN(60), 1+r.IntN(60))
		part := image.Rect(r.IntN(to.X), r.IntN(to.Y), to.X, to.Y)
		orientation := 1 + r.IntN(8)
		stored := synthetic(from.X, from.Y)
		img := upright(stored, orientation)
		whole := resize(t, img, to.X, to.Y, resample.OpenCVLinear, &pool)
		columns, err := resample.NewAxis(resample.Side{
			In: img.Size.X, Out: to.X, From: part.Min.X, To: part.Max.X, Filter: resample.OpenCVLinear,
			Mirrored: slices.Contains([]int{2, 3, 6, 7}, orientation),
		})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := resample.NewAxis(resample.Side{
			In: img.Size.Y, Out: to.Y, From: part.Min.Y, To: part.Max.Y, Filter: resample.OpenCVLinear,
			Mirrored: slices.Contains([]int{3, 4, 7, 8}, orientation),
		})
		if err != nil {
			t.Fatal(err)
		}
		// Where the picture lies on its side, its rows are the result's columns.
		lying, across, down := orientation >= 5, columns, rows
		if lying {
			across, down = rows, columns
		}
		got := make([]byte, 3*part.Dx()*part.Dy())
		stride := 3 * across.Len()
		resample.Resize(stored, across, down, lying != resample.RowsFirst(columns, rows), resample.Canvas{Pix: got, Stride: stride}, &pool)
		for y := range part.Dy() {
			for x := range part.Dx() {
				at := y*stride + 3*x
				if lying {
					at = x*stride + 3*y
				}
				want := whole[3*((part.Min.Y+y)*to.X+part.Min.X+x):][:3]
				if string(got[at:at+3]) != string(want) {
					t.Fatalf("%v to %v of %v, orientation %d: pixel %d,%d differs", from, part, to, orientation, x, y)
				}
			}
		}
	}
}
