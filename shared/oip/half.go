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

// ToHalf is the element of FP16 that is nearest to v, half to even. What is too
// large for it is infinite.
func ToHalf(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, magnitude := uint16(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case magnitude > 0x7f800000: // not a number
		return sign | 0x7e00
	case magnitude >= 0x47800000: // 2^16 and more
		return sign | 0x7c00
	case magnitude < 0x38800000: // below 2^-14: subnormal, a multiple of 2^-24
		return sign | uint16(math.RoundToEven(math.Ldexp(float64(math.Float32frombits(magnitude)), 24)))
	}
	// 13 bits of the fraction go, and the bias of the exponent is 112 less. A
	// fraction that is rounded up to one carries into the exponent, as it should.
	rounded := magnitude + 0xfff + magnitude>>13&1
	return sign | uint16((rounded-112<<23)>>13)
}

// Brain is the value of an element of BF16, the upper half of a float32.
func Brain(bits uint16) float64 { return float64(math.Float32frombits(uint32(bits) << 16)) }
