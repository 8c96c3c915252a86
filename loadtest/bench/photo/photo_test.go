package photo_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"

	"triptych/loadtest/bench/photo"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The files are as large as those of real photographs, for that is what a decoder
// spends its time on.
func TestFilesAreAsLargeAsPhotographs(t *testing.T) {
	for _, tt := range []struct{ width, height, least, most int }{
		{500, 375, 60_000, 120_000},
		{1280, 960, 250_000, 800_000},
	} {
		data, err := photo.JPEG(tt.width, tt.height, 1, 18)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) < tt.least || len(data) > tt.most {
			t.Errorf("%dx%d has %d bytes, want %d to %d", tt.width, tt.height, len(data), tt.least, tt.most)
		}
		img, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if y, ok := img.(*image.YCbCr); !ok || y.SubsampleRatio != image.YCbCrSubsampleRatio420 || y.Rect.Dx() != tt.width {
			t.Errorf("%dx%d is %T of %v", tt.width, tt.height, img, img.Bounds())
		}
	}
}

func TestASeedIsAPicture(t *testing.T) {
	one, err := photo.JPEG(64, 48, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	again, err := photo.JPEG(64, 48, 1, 10)
	if err != nil || !bytes.Equal(one, again) {
		t.Errorf("the same seed gave another file, %v", err)
	}
	if plain, err := photo.JPEG(64, 48, 1, 0); err != nil || len(plain) >= len(one) {
		t.Errorf("without grain the file has %d bytes, with it %d, %v", len(plain), len(one), err)
	}
	if other, err := photo.JPEG(64, 48, 2, 10); err != nil || bytes.Equal(one, other) {
		t.Errorf("another seed gave the same file, %v", err)
	}
}
