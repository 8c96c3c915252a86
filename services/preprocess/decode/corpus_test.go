package decode_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
)

// checkDamage cuts every sample of a folder at many places, the first and the last
// ones among them, and changes bytes of it. There are pixels, or the file is to
// blame. What that misses is left to the fuzz targets.
func checkDamage(t *testing.T, sub string) {
	t.Helper()
	const ends, between, changes = 30, 40, 60
	for _, want := range readGolden(t, folder(sub, "golden.json")) {
		t.Run(want.File, func(t *testing.T) {
			data := readFile(t, folder(sub, want.File))
			for n := 0; n < len(data); n++ {
				if n >= ends && n < len(data)-ends {
					n = min(n+len(data)/between, len(data)-ends)
				}
				staysWithin(t, data[:n])
			}
			random := rand.New(rand.NewPCG(1, uint64(len(data))))
			for range changes {
				damaged := slices.Clone(data)
				for range 1 + random.IntN(4) {
					damaged[random.IntN(min(len(data), 1+random.IntN(len(data))))] = byte(random.IntN(256))
				}
				staysWithin(t, damaged)
			}
		})
	}
}

// staysWithin decodes within small limits: there are pixels, as many bytes as their
// size says, or the file is to blame.
func staysWithin(t *testing.T, data []byte) {
	t.Helper()
	opts := decode.Options{Limits: fuzzLimits()}
	var img *pixels.Image
	h, err := decode.Open(data, opts)
	if err == nil {
		img, err = h.Decode(context.Background(), new(pixels.Pool), decode.View{})
	}
	if err != nil {
		blamed(t, err)
		return
	}
	if n := int64(img.Size.X) * int64(img.Size.Y); n < 1 || n > opts.Limits.Pixels || pixels.Samples*n != int64(len(img.Pix)) {
		t.Fatalf("%v pixels in %d bytes", img.Size, len(img.Pix))
	}
}
