package main_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"sync"
	"testing"
)

// photograph is a JPEG file with gradients and noise, as a camera makes it.
func photograph(t *testing.T, width, height int) []byte {
	t.Helper()
	img := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)
	random := rand.New(rand.NewPCG(1, uint64(width)))
	for i := range img.Y {
		x, y := i%img.YStride, i/img.YStride
		img.Y[i] = byte(64 + 64*x/width + 48*y/height + random.IntN(40))
	}
	for i := range img.Cb {
		x, y := i%img.CStride, i/img.CStride
		img.Cb[i], img.Cr[i] = byte(96+128*x/width+random.IntN(8)), byte(96+128*y/height+random.IntN(8))
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// 64 callers at once with photographs of 12 megapixels, and the default budget: less
// than a gigabyte, and nobody is refused.
func TestMemoryOfManyPhotographs(t *testing.T) {
	const callers, most = 64, 1 << 30
	data := photograph(t, 4000, 3000)
	s := start(t, "--request-timeout=10m")
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			if err := s.ask(t, data); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if peak := s.usage(t).peak; peak > most {
		t.Errorf("%d MiB, want less than %d", peak/mega, most/mega)
	}
}
