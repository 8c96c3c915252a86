package decode_test

import (
	"bytes"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
)

// addSeeds gives a fuzz target the case images of a format, and the samples of a
// folder.
func addSeeds(f *testing.F, format decode.Format, sub string) {
	f.Helper()
	samples, err := filepath.Glob(folder(sub, "*."+sub))
	if err != nil || len(samples) == 0 {
		f.Fatalf("no samples in %s: %v", sub, err)
	}
	for i, path := range append(samples, cases(f)...) {
		data := readFile(f, path)
		header, _ := decode.Open(data, options()) // of a broken file the format is known too
		if header.Format == format && len(data) < 16<<10 {
			f.Add(data, uint64(i))
		}
	}
}

// checkWithPart holds a file to what holds for every decoder; if it has pixels,
// a part that choice chooses has the same ones.
func checkWithPart(t *testing.T, data []byte, choice uint64) {
	t.Helper()
	opts := decode.Options{Limits: fuzzLimits()}
	random := rand.New(rand.NewPCG(choice, 0))
	if choice%2 == 1 {
		opts.Background = &goldenBackground
	}
	if choice%3 == 1 {
		opts.Profiles = decode.NewProfiles(1)
	}
	all, ok := check(t, data, opts)
	if !ok {
		return
	}
	h, err := decode.Open(data, opts)
	if err != nil {
		t.Fatal(err)
	}
	x, y := random.IntN(h.Width), random.IntN(h.Height)
	region := image.Rect(x, y, x+1+random.IntN(h.Width-x), y+1+random.IntN(h.Height-y))
	var pool pixels.Pool
	part, err := h.Decode(t.Context(), &pool, decode.View{Region: region})
	if err != nil {
		t.Fatalf("the whole has pixels, but %v: %v", region, err)
	}
	defer part.Release()
	if h.Orientation != 1 {
		return // the whole has been turned
	}
	for y := region.Min.Y; y < region.Max.Y; y++ {
		for x := region.Min.X; x < region.Max.X; x++ {
			if c := at(all.Image, x, y); !bytes.Equal(part.Row(y)[3*(x-part.Bounds.Min.X):][:3], c[:]) {
				t.Fatalf("(%d,%d) of %v differs from the whole picture's", x, y, region)
			}
		}
	}
}

// FuzzPNG is given PNG files.
func FuzzPNG(f *testing.F) {
	addSeeds(f, decode.PNG, "png")
	f.Fuzz(checkWithPart)
}

// FuzzGIF is given GIF files.
func FuzzGIF(f *testing.F) {
	addSeeds(f, decode.GIF, "gif")
	f.Add(animation(f, 2, 2), uint64(1))
	f.Fuzz(checkWithPart)
}

// FuzzWebP is given WebP files.
func FuzzWebP(f *testing.F) {
	addSeeds(f, decode.WebP, "webp")
	f.Add(unhex(f, "52494646 14000000 57454250 5650384C 08000000 2FFFFFFF 0F888808"), uint64(0)) // DEC-01
	f.Fuzz(checkWithPart)
}

// FuzzProfile is given color profiles: whatever they are, the image has pixels.
func FuzzProfile(f *testing.F) {
	still, err := os.ReadFile(folder("webp", "lossless_exact.webp"))
	if err != nil {
		f.Fatal(err)
	}
	const width, height, hasProfile = 75, 53, 0x20
	for _, name := range []string{"p3.tif", "adobe.tif", "table.tif"} {
		data := readFile(f, folder("profiles", name))
		at := bytes.Index(data, []byte("acsp")) - 36
		f.Add(data[at:])
	}
	f.Add(make([]byte, 128))
	f.Fuzz(func(t *testing.T, profile []byte) {
		opts := options()
		opts.Profiles = decode.NewProfiles(1)
		file := webpOf(vp8x(hasProfile, width, height), riffChunk("ICCP", profile), slices.Clone(bitstream(still)))
		if _, err := decodeAll(file, opts); err != nil {
			t.Fatal(err)
		}
	})
}
