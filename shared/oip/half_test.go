package oip_test

import (
	"math"
	"testing"

	"triptych/shared/oip"
)

func TestHalvesComeBack(t *testing.T) {
	for bits := range 1 << 16 {
		v := oip.Half(uint16(bits))
		if got := oip.Half(oip.ToHalf(float32(v))); got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
			t.Fatalf("%#04x is %v and comes back as %v", bits, v, got)
		}
		if !math.IsNaN(v) && oip.ToHalf(float32(v)) != uint16(bits) {
			t.Fatalf("%#04x comes back as %#04x", bits, oip.ToHalf(float32(v)))
		}
	}
}

// Between two neighbours, what is nearer wins, and the even one at half.
func TestHalfIsTheNearest(t *testing.T) {
	for bits := range uint16(0x7bff) {
		low, high := oip.Half(bits), oip.Half(bits+1)
		middle := float32((low + high) / 2) // has 12 bits: exact
		even := bits + bits&1
		for v, want := range map[float32]uint16{
			math.Nextafter32(middle, 0): bits,
			middle:                      even,
			math.Nextafter32(middle, float32(math.Inf(1))): bits + 1,
		} {
			if got, negative := oip.ToHalf(v), oip.ToHalf(-v); got != want || negative != want|0x8000 {
				t.Fatalf("%v becomes %#04x and %#04x, want %#04x", v, got, negative, want)
			}
		}
	}
	for v, want := range map[float32]uint16{65504: 0x7bff, 65519.996: 0x7bff, 65520: 0x7c00, 1e30: 0x7c00, float32(math.Inf(1)): 0x7c00} {
		if got := oip.ToHalf(v); got != want {
			t.Errorf("%v becomes %#04x, want %#04x", v, got, want)
		}
	}
}
