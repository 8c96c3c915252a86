package decode_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"strings"
	"testing"
	"time"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
)

// animatedGIF has as many frames.
func animatedGIF(tb testing.TB, frames int) []byte {
	tb.Helper()
	g := &gif.GIF{}
	for range frames {
		g.Image = append(g.Image, image.NewPaletted(image.Rect(0, 0, 40, 30), color.Palette{color.Black, color.White}))
		g.Delay = append(g.Delay, 0)
	}
	var out bytes.Buffer
	if err := gif.EncodeAll(&out, g); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// animatedPNG says that it has as many frames.
func animatedPNG(tb testing.TB, frames uint32) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		tb.Fatal(err)
	}
	control := binary.BigEndian.AppendUint32([]byte("\x00\x00\x00\x08acTL"), frames)
	control = append(control, make([]byte, 8)...)
	at := 8 + 12 + 13 // behind IHDR
	return append(append(bytes.Clone(out.Bytes()[:at]), control...), out.Bytes()[at:]...)
}

// pages is a TIFF file that links as many pages, the last one to where it says.
func pages(n int, last uint32) []byte {
	le := binary.LittleEndian
	out := le.AppendUint32([]byte("II*\x00"), 8)
	for i := range n {
		out = le.AppendUint16(out, 4)
		for _, entry := range [][2]uint32{{256, 4}, {257, 4}, {273, 0}, {279, 2}} { // 4x4 bits at offset 0
			out = le.AppendUint16(le.AppendUint16(out, uint16(entry[0])), 4)
			out = le.AppendUint32(le.AppendUint32(out, 1), entry[1])
		}
		next := uint32(len(out) + 4)
		if i == n-1 {
			next = last
		}
		out = le.AppendUint32(out, next)
	}
	return out
}

func TestFramesAreCounted(t *testing.T) {
	anim := read(t, "cases", "images", "anim.webp") // two frames
	for name, tc := range map[string]struct {
		data   []byte
		frames int64
	}{
		"GIF, one frame":   {animatedGIF(t, 1), 1},
		"GIF, 300 frames":  {animatedGIF(t, 300), 300},
		"WebP, two frames": {anim, 2},
		"PNG, no word":     {read(t, "images", "camera.png"), 1},
		"PNG, seven":       {animatedPNG(t, 7), 7},
		"JPEG":             {read(t, "images", "cat.jpg"), 1},
		"TIFF":             {read(t, "images", "rocket.tiff"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options()
			opts.Limits.Frames = tc.frames
			if _, err := decode.Open(tc.data, opts); err != nil {
				t.Errorf("with %d frames allowed: %v", tc.frames, err)
			}
			opts.Limits.Frames = tc.frames - 1
			_, err := decode.Open(tc.data, opts)
			if tc.frames == 1 { // 0 is no limit
				if err != nil {
					t.Errorf("without a limit: %v", err)
				}
				return
			}
			want := fmt.Sprintf("more frames than the %d that are allowed", tc.frames-1)
			if failure.KindOf(err) != failure.TooLarge || !strings.Contains(failure.Message(err), want) {
				t.Errorf("got %v, want too large with %q", err, want)
			}
		})
	}
}

// Hostile containers end the walk, soon.
func TestFramesOfHostileFiles(t *testing.T) {
	blocks := animatedGIF(t, 1)
	endless := bytes.Clone(blocks[:len(blocks)-1])
	endless = append(append(endless, 0x21, 0xfe), bytes.Repeat([]byte{1, 0}, 4<<20)...)
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"GIF of tiny blocks":        {endless, "the GIF image has more parts than are counted"},
		"TIFF pages in a circle":    {pages(3, 8), "more frames than the 5"},
		"TIFF, six pages":           {pages(6, 0), "more frames than the 5"},
		"PNG with 2^32-1 frames":    {animatedPNG(t, 1<<32-1), "more frames than the 5"},
		"TIFF page beyond the end":  {pages(5, 1<<31), ""},
		"TIFF, five pages":          {pages(5, 0), ""},
		"GIF cut in the next frame": {animatedGIF(t, 6)[:180], ""},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options()
			opts.Limits.Frames = 5
			begin := time.Now()
			_, err := decode.Open(tc.data, opts)
			if tc.want == "" && failure.KindOf(err) == failure.TooLarge || tc.want != "" && (failure.KindOf(err) != failure.TooLarge || !strings.Contains(failure.Message(err), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if took := time.Since(begin); took > time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestRawPixels(t *testing.T) {
	pix := make([]byte, 5*4*3)
	h, err := decode.OpenRaw(pix, image.Pt(5, 4), options())
	if err != nil || h.Width != 5 || h.Height != 4 || h.Orientation != 1 || h.Memory != 0 {
		t.Fatalf("%+v, %v", h, err)
	}
	img, err := h.Decode(t.Context(), nil, decode.View{})
	if err != nil || &img.Pix[0] != &pix[0] || !img.Shared() {
		t.Errorf("the pixels are other memory (%v)", err)
	}
	limits := options()
	limits.Limits.Height = 3
	for name, tc := range map[string]struct {
		size image.Point
		opts decode.Options
		kind failure.Kind
	}{
		"bytes missing": {image.Pt(5, 5), options(), failure.Invalid},
		"no width":      {image.Pt(0, 4), options(), failure.Invalid},
		"negative":      {image.Pt(-5, -4), options(), failure.Invalid},
		"overflow":      {image.Pt(1<<62, 1<<62), options(), failure.TooLarge},
		"too high":      {image.Pt(5, 4), limits, failure.TooLarge},
		"no limits":     {image.Pt(5, 4), decode.Options{}, failure.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := decode.OpenRaw(pix, tc.size, tc.opts); failure.KindOf(err) != tc.kind {
				t.Errorf("got %v, want %s", err, tc.kind)
			}
		})
	}
}
