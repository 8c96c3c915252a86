//go:build cgo && !portable && (amd64 || arm64)

#ifndef TRIPTYCH_RESAMPLE_PASSES_H
#define TRIPTYCH_RESAMPLE_PASSES_H

#include <stddef.h>
#include <stdint.h>

/* Bits behind the point of a weight, and one half. */
#define PRECISION 22
#define HALF (1 << (PRECISION - 1))

/* Samples of a pixel. */
#define SAMPLES 3

/* The pass over columns reads four pixels at once, as GROUP bytes of LOAD. */
#define GROUP (4 * SAMPLES)
#define LOAD 16

/* Rows that the pass over columns makes at once, with weights that are loaded once. */
#define TOGETHER 4

/* The pass over columns: where each pixel's sources begin, in bytes, and its weights. */
struct columns {
	int32_t *offset;
	int32_t *weights;
	ptrdiff_t length, taps;
};

/* What an instruction set does. */
struct passes {
	/* taps are multiples of these */
	ptrdiff_t column_step, row_step;
	/* pack turns weights into the form that the passes read, in place. */
	void (*pack)(int32_t *weights, ptrdiff_t n);
	void (*columns)(const struct columns *c, const uint8_t *const in[TOGETHER], uint8_t *const out[TOGETHER]);
	/* blend makes n bytes of one row out of taps rows, which begin at base + places[k]. */
	void (*blend)(const uint8_t *base, const ptrdiff_t *places, const int32_t *weights, ptrdiff_t taps, uint8_t *out, ptrdiff_t n);
};

/* The instruction sets; null where the CPU lacks them. */
const struct passes *triptych_avx2(void);
const struct passes *triptych_neon(void);

/* clip drops the bits behind the point and keeps the result in a byte. */
static inline uint8_t clip(uint32_t sum) {
	int32_t v = (int32_t)sum >> PRECISION;
	return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

#endif
