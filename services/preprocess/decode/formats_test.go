package decode_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"slices"
	"strings"
	"testing"

	"triptych/shared/failure"
)

// animation is a GIF whose first frame is 20x20 at (10,10) of a 100x100 canvas.
func animation(tb testing.TB, transparent int, frames int) []byte {
	tb.Helper()
	palette := color.Palette{color.RGBA{1, 2, 3, 255}, color.RGBA{255, 255, 255, 255}, color.RGBA{40, 50, 60, 255}, color.RGBA{7, 7, 7, 255}}
	all := &gif.GIF{Config: image.Config{ColorModel: palette, Width: 100, Height: 100}}
	for range frames {
		frame := image.NewPaletted(image.Rect(10, 10, 30, 30), palette)
		for i := range frame.Pix {
			frame.Pix[i] = 1
		}
		frame.Pix[0] = 2
		all.Image, all.Delay = append(all.Image, frame), append(all.Delay, 0)
	}
	var out bytes.Buffer
	if err := gif.EncodeAll(&out, all); err != nil {
		tb.Fatal(err)
	}
	if transparent < 0 {
		return out.Bytes()
	}
	// Go's encoder gives up a transparent entry's color, which is the point here.
	control := []byte{0x21, 0xf9, 4, 1, 0, 0, byte(transparent), 0}
	first := 13 + 3*len(palette)
	return slices.Concat(out.Bytes()[:first], control, out.Bytes()[first:])
}

func TestFirstFrameLiesOnItsCanvas(t *testing.T) {
	for name, tc := range map[string]struct {
		transparent int
		canvas      [3]byte
	}{
		"opaque":                   {-1, [3]byte{1, 2, 3}},
		"transparent":              {2, [3]byte{40, 50, 60}},
		"transparent, not a color": {200, [3]byte{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decodeAll(animation(t, tc.transparent, 3), options())
			if err != nil {
				t.Fatal(err)
			}
			if size := got.Image.Rect.Size(); size != image.Pt(100, 100) {
				t.Fatalf("size is %v, want the canvas's 100x100", size)
			}
			for place, want := range map[image.Point][3]byte{
				{0, 0}: tc.canvas, {9, 10}: tc.canvas, {99, 99}: tc.canvas, {30, 29}: tc.canvas,
				{10, 10}: {40, 50, 60}, {11, 10}: {255, 255, 255}, {29, 29}: {255, 255, 255},
			} {
				if c := at(got.Image, place.X, place.Y); c != want {
					t.Errorf("%v is %v, want %v", place, c, want)
				}
			}
		})
	}
}

func TestAnimationCostsAsMuchAsAStill(t *testing.T) {
	whole := animation(t, -1, 300)
	if _, err := decodeAll(whole[:len(whole)/2], options()); err != nil {
		t.Errorf("cut behind the first frame: %v", err)
	}
}

func TestFrameBeyondTheCanvasIsBroken(t *testing.T) {
	data := animation(t, -1, 1)
	data[6], data[8] = 15, 15
	_, err := decodeAll(data, options())
	if failure.KindOf(err) != failure.BrokenImage {
		t.Errorf("got %v, want a broken image", err)
	}
}

// frame is the payload of an ANMF chunk.
func frame(x, y, width, height int, chunks []byte) []byte {
	return slices.Concat(put24(x/2), put24(y/2), put24(width-1), put24(height-1), put24(100), []byte{0}, chunks)
}

func TestFirstFrameOfAnAnimatedWebP(t *testing.T) {
	still := read(t, "cases", "images", "ll.webp")
	whole, err := decodeAll(still, options())
	if err != nil {
		t.Fatal(err)
	}
	anim := riffChunk("ANIM", make([]byte, 6))
	data := webpOf(vp8x(2, 200, 100), anim, riffChunk("ANMF", frame(10, 6, 96, 64, bitstream(still))))
	got, err := decodeAll(data, options())
	if err != nil {
		t.Fatal(err)
	}
	for y := range 100 {
		for x := range 200 {
			var want [3]byte
			if (image.Point{x, y}).In(image.Rect(10, 6, 106, 70)) {
				want = at(whole.Image, x-10, y-6)
			}
			if c := at(got.Image, x, y); c != want {
				t.Fatalf("(%d,%d) is %v, want %v", x, y, c, want)
			}
		}
	}
	for name, bad := range map[string][]byte{
		"beyond the canvas": frame(110, 6, 96, 64, bitstream(still)),
		"of another size":   frame(0, 0, 95, 64, bitstream(still)),
		"without pixels":    frame(0, 0, 96, 64, nil),
		"cut off":           make([]byte, 10),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeAll(webpOf(vp8x(2, 200, 100), anim, riffChunk("ANMF", bad)), options())
			if failure.KindOf(err) != failure.BrokenImage {
				t.Errorf("got %v, want a broken image", err)
			}
		})
	}
}

func TestUnsupportedFeaturesAreNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"JPEG lossless":     {frameHeader(0xc3, 8, 8, 0x11), "lossless compression"},
		"JPEG hierarchical": {frameHeader(0xc5, 8, 8, 0x11), "hierarchical"},
		"JPEG components":   {frameHeader(0xc0, 8, 8, 0x11, 0x11), "2 color components"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeAll(tc.data, options())
			if failure.KindOf(err) != failure.UnsupportedMedia || !strings.Contains(failure.Message(err), tc.want) {
				t.Errorf("got %v, want a refusal that names %q", err, tc.want)
			}
		})
	}
}

// Fax pages may be stored as negatives.
func TestFaxNegative(t *testing.T) {
	// Group 4: a row of 16 white pixels is the code V0 (1); then end of block.
	pixels := []byte{0b1000_0000, 0b0000_1000, 0b0000_0000, 0b1000_0000}
	for photometric, want := range map[uint32]byte{0: 255, 1: 0} {
		page := with(greyPage(16, 1), map[uint16]uint32{258: 1, 259: 4, 262: photometric})
		got, err := decodeAll(tiffOf(page, pixels), options())
		if err != nil {
			t.Fatal(err)
		}
		if c := at(got.Image, 5, 0); c != [3]byte{want, want, want} {
			t.Errorf("photometric %d: a white run is %v, want %d", photometric, c, want)
		}
	}
}
