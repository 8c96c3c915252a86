package transform

import (
	"encoding/binary"
	"math"

	"triptych/services/preprocess/pixels"
)

// table holds the bits of the FP32 result for every sample value and color.
type table [pixels.Samples][256]uint32

// newTable computes in float32 after the scale, as torchvision's ToTensor and
// Normalize do.
func newTable(n Normalisation) *table {
	t := &table{}
	for c := range pixels.Samples {
		for v := range 256 {
			scaled := float32(float64(v) * n.Scale)
			t[c][v] = math.Float32bits((scaled - float32(n.Mean[c])) / float32(n.Std[c]))
		}
	}
	return t
}

func (t *table) write(rgb, out []byte, layout Layout) {
	step, plane := pixels.Samples, 1
	if layout == NCHW {
		step, plane = 1, len(rgb)/pixels.Samples
	}
	for i, v := range rgb {
		c := i % pixels.Samples
		binary.LittleEndian.PutUint32(out[4*(i/pixels.Samples*step+c*plane):], t[c][v])
	}
}

// writePlanes turns pixels into three planes.
func writePlanes(rgb, out []byte) {
	plane := len(rgb) / pixels.Samples
	for c := range pixels.Samples {
		target := out[c*plane:][:plane]
		for i := range target {
			target[i] = rgb[pixels.Samples*i+c]
		}
	}
}
