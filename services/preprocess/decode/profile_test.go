package decode_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"image"
	"slices"
	"strings"
	"sync"
	"testing"

	"triptych/services/preprocess/decode"
)

// PRE-09. Little CMS of another version may differ from Pillow's by one level.
func TestProfilesBecomeSRGBAsInPillow(t *testing.T) {
	var rows []struct {
		golden
		Converted, Broken bool
	}
	if err := json.Unmarshal(readFile(t, folder("profiles", "golden.json")), &rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range rows {
		t.Run(want.File, func(t *testing.T) {
			opts := options()
			opts.Profiles = decode.NewProfiles(1)
			got, err := decodeAll(readFile(t, folder("profiles", want.File)), opts)
			if err != nil {
				t.Fatal(err)
			}
			if size := got.Image.Rect.Size(); size != image.Pt(want.Width, want.Height) {
				t.Errorf("size is %v", size)
			}
			if !decode.ColorProfiles {
				return
			}
			if n := opts.Profiles.Converted(); n != uint64(count(want.Converted)) {
				t.Errorf("%d converted, want %t", n, want.Converted)
			}
			if n := opts.Profiles.Broken(); n != uint64(count(want.Broken)) {
				t.Errorf("%d broken, want %t", n, want.Broken)
			}
			if !want.Converted {
				if sum(rgb(got.Image)) != want.SHA256 {
					t.Error("the pixels have changed")
				}
				return
			}
			expected := readFile(t, folder("profiles", want.File+".rgb"))
			for i, v := range rgb(got.Image) {
				if d := int(v) - int(expected[i]); d < -1 || d > 1 {
					t.Fatalf("byte %d is %d, want %d within 1", i, v, expected[i])
				}
			}
		})
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// Metadata never fail an image, and never take more memory than they may.
func TestBrokenProfilesLeaveThePixelsAlone(t *testing.T) {
	plain := readFile(t, folder("profiles", "p3.png"))
	const ihdrEnd = 8 + 25
	iccp := func(profile []byte) []byte {
		return slices.Concat(plain[:ihdrEnd], chunk("iCCP", slices.Concat([]byte("name\x00\x00"), profile)), plain[ihdrEnd:])
	}
	jpeg := read(t, "cases", "images", "base.jpg")
	segments := func(parts ...string) []byte {
		out := slices.Clone(jpeg[:2])
		for _, part := range parts {
			out = append(out, 0xff, 0xe2, 0, byte(2+12+len(part)))
			out = append(append(out, "ICC_PROFILE\x00"...), part...)
		}
		return append(out, jpeg[2:]...)
	}
	bomb := make([]byte, 64<<20)
	binary.BigEndian.PutUint32(bomb, uint32(len(bomb)))
	for name, data := range map[string][]byte{
		"case icc.jpg":          read(t, "cases", "images", "icc.jpg"),
		"case icc.webp":         read(t, "cases", "images", "icc.webp"),
		"PNG bomb":              iccp(zlibOf(t, bomb)),
		"PNG not packed":        iccp([]byte("abc")),
		"PNG shorter than said": iccp(zlibOf(t, []byte{0, 0, 1, 0, 5})),
		"PNG without data":      iccp(nil),
		"JPEG part missing":     segments("\x01\x02abc"),
		"JPEG part twice":       segments("\x01\x02abc", "\x01\x02abc"),
		"JPEG part zero":        segments("\x00\x01abc"),
		"JPEG counts differ":    segments("\x01\x02abc", "\x02\x03abc"),
		"TIFF beyond the file":  tiffOf(with(greyPage(4, 4), map[uint16]uint32{34675: 1 << 31}), make([]byte, 16)),
	} {
		t.Run(name, func(t *testing.T) {
			want, err := decodeAll(data, options())
			if err != nil {
				t.Fatal(err)
			}
			opts := options()
			opts.Profiles = decode.NewProfiles(4)
			got, err := decodeAll(data, opts)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Image.Pix, want.Image.Pix) {
				t.Error("the pixels have changed")
			}
			if n := opts.Profiles.Broken(); n > 1 || n == 0 && !strings.HasPrefix(name, "TIFF") {
				t.Errorf("%d profiles count as broken", n)
			}
		})
	}
}

// More profiles in use than are remembered: none is freed under its users.
func TestProfilesInUseAreNotForgotten(t *testing.T) {
	opts := options()
	opts.Profiles = decode.NewProfiles(1)
	var wg sync.WaitGroup
	for _, file := range []string{"p3.png", "adobe.png", "table.png", "srgb.png", "cut.png"} {
		data := readFile(t, folder("profiles", file))
		alone := opts
		alone.Profiles = decode.NewProfiles(1)
		want, err := decodeAll(data, alone)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			wg.Go(func() {
				for range 3 {
					got, err := decodeAll(data, opts)
					if err != nil || !bytes.Equal(got.Image.Pix, want.Image.Pix) {
						t.Errorf("%s: other pixels than alone, or %v", file, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}
