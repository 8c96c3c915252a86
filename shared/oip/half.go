package oip

import "math"

// Half is the value of an IEEE 754 binary16, an element of FP16: 1 bit of sign, 5
// of exponent, 10 of fraction.
func Half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	var v float64
	switch {
	case exponent == 0x1f && fraction != 0:
		return math.NaN()
	case exponent == 0x1f:
		v = math.Inf(1)
	case exponent == 0: // subnormal
		v = math.Ldexp(fraction, -24)
	default:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	if bits>>15 == 1 {
		return -v
	}
	return v
}

// Brain is the value of an element of BF16, the upper half of a float32.
func Brain(bits uint16) float64 { return float64(math.Float32frombits(uint32(bits) << 16)) }
