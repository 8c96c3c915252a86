package album_test

import (
	"bytes"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"triptych/loadtest/bench/album"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestMake(t *testing.T) {
	const count = 5
	folder := testkit.Path(t, "testdata", "images")
	files, err := album.Make(folder, count)
	if err != nil {
		t.Fatal(err)
	}
	again, err := album.Make(folder, count)
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		img, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		width, height := img.Bounds().Dx(), img.Bounds().Dy()
		if width < 470 || width > 510 || height < 400 || height > 440 || len(file) < 0.9*album.Bytes || len(file) > 1.1*album.Bytes {
			t.Errorf("photograph %d has %dx%d and %d bytes", i, width, height, len(file))
		}
		if !bytes.Equal(file, again[i]) {
			t.Errorf("photograph %d is another one the second time", i)
		}
		if i > 0 && bytes.Equal(file, files[0]) {
			t.Errorf("photograph %d is the first one", i)
		}
	}
}

func TestMakeRefuses(t *testing.T) {
	folder := t.TempDir()
	if _, err := album.Make(folder, 1); err == nil {
		t.Error("photographs of nothing")
	}
	if err := os.WriteFile(filepath.Join(folder, "astronaut.webp"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := album.Make(folder, 1); err == nil {
		t.Error("photographs of what is none")
	}
}
