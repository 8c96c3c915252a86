//go:build cgo && !portable

package decode_test

import (
	"image"
	"math/rand/v2"
	"slices"
	"testing"

	"triptych/services/preprocess/decode"
)

// FuzzJPEG holds every file to what holds for the good ones: there are pixels or
// the file is to blame, a region has the pixels of the whole, and a part is
// refused exactly when the whole is.
func FuzzJPEG(f *testing.F) {
	for _, data := range seeds(f, decode.JPEG) {
		f.Add(data, uint64(len(data)))
	}
	for _, data := range jpegSamples(f) {
		if len(data) < 8<<10 {
			f.Add(data, uint64(len(data)))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, choice uint64) { checkJPEG(t, data, choice) })
}

// checkJPEG looks at the file as a whole and at a part that choice chooses.
func checkJPEG(t *testing.T, data []byte, choice uint64) {
	t.Helper()
	opts := decode.Options{Limits: fuzzLimits()}
	random := rand.New(rand.NewPCG(choice, 0))
	reduce := 1 << random.IntN(4)
	v := decode.View{Reduce: reduce}
	whole, err := viewWithin(data, opts, v)
	if err != nil {
		blamed(t, err)
	}
	size := image.Pt(64, 64) // for a file that is refused as a whole, too
	if h, err := decode.Open(data, opts); err == nil {
		size = h.Reduced(reduce)
	}
	v.Region = anyRegion(random, size)
	part, partly := viewWithin(data, opts, v)
	if (err == nil) != (partly == nil) {
		t.Fatalf("the whole: %v; %v of it by %d: %v", err, v.Region, reduce, partly)
	}
	if err == nil {
		samePart(t, part, whole, v)
	}
}

// Damage in the middle of a file is not found by chance: it is made here.
func TestDamagedJPEGs(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, data := range jpegSamples(t) {
		t.Run(name, func(t *testing.T) {
			for range 25 {
				checkJPEG(t, damaged(random, data), random.Uint64())
			}
		})
	}
}

// damaged is a copy of a file with some bytes changed, left out, doubled or cut
// off, mostly behind its tables.
func damaged(random *rand.Rand, data []byte) []byte {
	out := slices.Clone(data)
	for range 1 + random.IntN(3) {
		at := random.IntN(len(out))
		if tables := min(600, len(out)/2); random.IntN(3) > 0 {
			at = tables + random.IntN(len(out)-tables)
		}
		most := min(1+random.IntN(20), len(out)-at)
		switch random.IntN(6) {
		case 0, 1:
			out[at] = byte(random.Uint32())
		case 2:
			out[at] ^= 1 << random.IntN(8)
		case 3:
			out = slices.Delete(out, at, at+most)
		case 4:
			out = slices.Insert(out, at, slices.Clone(out[at:at+most])...)
		case 5:
			out = out[:at]
		}
		if len(out) < 4 {
			break
		}
	}
	return out
}
