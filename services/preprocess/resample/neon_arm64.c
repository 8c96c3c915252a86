//go:build cgo && !portable

/* The passes by NEON, which multiplies 32 bits as they are. */

#include "passes.h"

#include <arm_neon.h>
#include <string.h>

static void pack(int32_t *weights, ptrdiff_t n) { (void)weights, (void)n; }

/* add adds four pixels of a row, of which the weights are w. */
static inline int32x4_t add(int32x4_t sum, const uint8_t *row, int32x4_t w) {
	/* The three samples of each pixel, in words. */
	static const uint8_t places[4][16] = {
		{0, 99, 99, 99, 1, 99, 99, 99, 2, 99, 99, 99, 99, 99, 99, 99},
		{3, 99, 99, 99, 4, 99, 99, 99, 5, 99, 99, 99, 99, 99, 99, 99},
		{6, 99, 99, 99, 7, 99, 99, 99, 8, 99, 99, 99, 99, 99, 99, 99},
		{9, 99, 99, 99, 10, 99, 99, 99, 11, 99, 99, 99, 99, 99, 99, 99},
	};
	uint8x16_t p = vld1q_u8(row);
	sum = vmlaq_laneq_s32(sum, vreinterpretq_s32_u8(vqtbl1q_u8(p, vld1q_u8(places[0]))), w, 0);
	sum = vmlaq_laneq_s32(sum, vreinterpretq_s32_u8(vqtbl1q_u8(p, vld1q_u8(places[1]))), w, 1);
	sum = vmlaq_laneq_s32(sum, vreinterpretq_s32_u8(vqtbl1q_u8(p, vld1q_u8(places[2]))), w, 2);
	return vmlaq_laneq_s32(sum, vreinterpretq_s32_u8(vqtbl1q_u8(p, vld1q_u8(places[3]))), w, 3);
}

/* finish makes bytes of two times four sums. */
static inline uint8x8_t finish(int32x4_t a, int32x4_t b) {
	return vqmovun_s16(vcombine_s16(vmovn_s32(vshrq_n_s32(a, PRECISION)), vmovn_s32(vshrq_n_s32(b, PRECISION))));
}

static void columns(const struct columns *c, const uint8_t *const in[TOGETHER], uint8_t *const out[TOGETHER]) {
	for (ptrdiff_t x = 0; x < c->length; x++) {
		const int32_t *w = c->weights + x * c->taps;
		int32x4_t sums[TOGETHER] = {vdupq_n_s32(HALF), vdupq_n_s32(HALF), vdupq_n_s32(HALF), vdupq_n_s32(HALF)};
		ptrdiff_t from = c->offset[x];
		for (ptrdiff_t k = 0; k < c->taps; k += 4, from += GROUP) {
			int32x4_t four = vld1q_s32(w + k);
			for (int i = 0; i < TOGETHER; i++) sums[i] = add(sums[i], in[i] + from, four);
		}
		uint8_t pixels[16];
		vst1_u8(pixels, finish(sums[0], sums[1]));
		vst1_u8(pixels + 8, finish(sums[2], sums[3]));
		for (int i = 0; i < TOGETHER; i++) memcpy(out[i] + SAMPLES * x, pixels + 4 * i, SAMPLES);
	}
}

/* The bytes that blend makes at once. */
#define CHUNK 16

static inline void blend_chunk(const uint8_t *base, const ptrdiff_t *places, const int32_t *w, ptrdiff_t taps, uint8_t *out, ptrdiff_t at) {
	int32x4_t s0 = vdupq_n_s32(HALF), s1 = s0, s2 = s0, s3 = s0;
	for (ptrdiff_t k = 0; k < taps; k++) {
		uint8x16_t p = vld1q_u8(base + places[k] + at);
		uint16x8_t left = vmovl_u8(vget_low_u8(p)), right = vmovl_u8(vget_high_u8(p));
		int32x4_t weight = vdupq_n_s32(w[k]);
		s0 = vmlaq_s32(s0, vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(left))), weight);
		s1 = vmlaq_s32(s1, vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(left))), weight);
		s2 = vmlaq_s32(s2, vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(right))), weight);
		s3 = vmlaq_s32(s3, vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(right))), weight);
	}
	vst1q_u8(out + at, vcombine_u8(finish(s0, s1), finish(s2, s3)));
}

static void blend(const uint8_t *base, const ptrdiff_t *places, const int32_t *w, ptrdiff_t taps, uint8_t *out, ptrdiff_t n) {
	if (n < CHUNK) {
		for (ptrdiff_t i = 0; i < n; i++) {
			uint32_t sum = HALF;
			for (ptrdiff_t k = 0; k < taps; k++) sum += (uint32_t)w[k] * base[places[k] + i];
			out[i] = clip(sum);
		}
		return;
	}
	for (ptrdiff_t at = 0; at + CHUNK <= n; at += CHUNK) blend_chunk(base, places, w, taps, out, at);
	/* What is left is made together with its neighbours once more. */
	if (n % CHUNK) blend_chunk(base, places, w, taps, out, n - CHUNK);
}

static const struct passes passes = {.column_step = 4, .row_step = 1, .pack = pack, .columns = columns, .blend = blend};

const struct passes *triptych_neon(void) { return &passes; }
