package engine

import (
	"math"
	"testing"
	"time"

	"triptych/proto/inference"
	"triptych/shared/drift"
	"triptych/shared/oip"
)

func TestNoGain(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	cases := map[string]struct {
		measured []Measured
		want     bool
	}{
		"one":                   {[]Measured{{1, ms(10)}}, false},
		"two of one":            {[]Measured{{1, ms(10)}, {2, ms(20)}}, false},
		"four take twice two":   {[]Measured{{1, ms(10)}, {2, ms(20)}, {4, ms(38)}}, true},
		"four take less":        {[]Measured{{1, ms(10)}, {2, ms(20)}, {4, ms(37)}}, false},
		"a preferred one":       {[]Measured{{4, ms(10)}, {6, ms(90)}}, false},
		"skipping what between": {[]Measured{{4, ms(10)}, {6, ms(12)}, {8, ms(19)}}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := noGain(c.measured); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

// Noise is what a model could be sent: random bits would be NaN now and then.
func TestNoise(t *testing.T) {
	for datatype := range datatypes {
		name := oip.Datatype(datatype)
		t.Run(name, func(t *testing.T) {
			const n = 4096
			size := n * leastSize(datatype)
			data := noise(datatype, size)
			if int64(len(data)) != size {
				t.Fatalf("%d bytes, want %d", len(data), size)
			}
			noised := oip.Tensor{Datatype: name, Shape: []int64{n}, Data: data}
			d, err := drift.Compare(oip.Tensor{Datatype: name, Shape: []int64{n}, Data: make([]byte, size)}, noised, false)
			if err != nil {
				t.Fatal(err)
			}
			if d.NotFinite > 0 || drift.NaNs(noised) > 0 {
				t.Errorf("%d are not finite", d.NotFinite)
			}
			most := 1.0
			switch datatype {
			case inference.DataType_TYPE_UINT8:
				most = math.MaxUint8
			case inference.DataType_TYPE_INT8:
				most = -math.MinInt8
			case inference.DataType_TYPE_STRING:
				most = 0
			}
			if d.Abs > most || d.Abs < 0.9*most {
				t.Errorf("up to %g, want %g", d.Abs, most)
			}
		})
	}
}
