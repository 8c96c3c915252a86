//go:build cgo && !portable

/*
 * The passes by AVX2. A weight w of 22 bits behind the point is split, so that
 * multiplication of 16 bits applies: w = 2048 * high + low, 0 <= low < 2048. The
 * sums over both parts, the first shifted, give the very sum over w in 32 bits.
 * Two weights become two pairs of 16 bits: (high, high), (low, low).
 */

#include "passes.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline, target("avx2")))

#define SPLIT 11

static void pack(int32_t *weights, ptrdiff_t n) {
	for (ptrdiff_t i = 0; i < n; i += 2) {
		int32_t a = weights[i], b = weights[i + 1];
		int16_t pairs[4] = {
			(int16_t)(a >> SPLIT), (int16_t)(b >> SPLIT),
			(int16_t)(a & ((1 << SPLIT) - 1)), (int16_t)(b & ((1 << SPLIT) - 1)),
		};
		memcpy(weights + i, pairs, sizeof pairs);
	}
}

/* sums are two accumulators of the same samples, by high and by low parts. */
struct sums {
	__m256i high, low;
};

INLINE struct sums begin(void) { return (struct sums){_mm256_setzero_si256(), _mm256_set1_epi32(HALF)}; }

INLINE void add(struct sums *s, __m256i pairs, __m256i high, __m256i low) {
	s->high = _mm256_add_epi32(s->high, _mm256_madd_epi16(pairs, high));
	s->low = _mm256_add_epi32(s->low, _mm256_madd_epi16(pairs, low));
}

INLINE __m256i finish(const struct sums *s) {
	return _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(s->high, SPLIT), s->low), PRECISION);
}

/* two is LOAD bytes of each of two rows. */
INLINE __m256i two(const uint8_t *a, const uint8_t *b) {
	__m256i lower = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)a));
	return _mm256_inserti128_si256(lower, _mm_loadu_si128((const __m128i *)b), 1);
}

INLINE void store4(uint8_t *out, int pixel) { memcpy(out, &pixel, sizeof pixel); }

INLINE void store3(uint8_t *out, int pixel) { memcpy(out, &pixel, SAMPLES); }

/* pixel makes one pixel of four rows: the first and third in the lower half, 4 bytes each. */
INLINE __m256i pixel(const int32_t *w, ptrdiff_t taps, const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d) {
	const __m256i first = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
	const __m256i second = _mm256_broadcastsi128_si256(_mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
	struct sums upper = begin(), lower = begin();
	ptrdiff_t k = 0, at = 0;
	for (; k + 4 <= taps; k += 4, at += GROUP) {
		__m256i ab = two(a + at, b + at), cd = two(c + at, d + at);
		__m256i high = _mm256_set1_epi32(w[k]), low = _mm256_set1_epi32(w[k + 1]);
		add(&upper, _mm256_shuffle_epi8(ab, first), high, low);
		add(&lower, _mm256_shuffle_epi8(cd, first), high, low);
		high = _mm256_set1_epi32(w[k + 2]), low = _mm256_set1_epi32(w[k + 3]);
		add(&upper, _mm256_shuffle_epi8(ab, second), high, low);
		add(&lower, _mm256_shuffle_epi8(cd, second), high, low);
	}
	if (k < taps) {
		__m256i high = _mm256_set1_epi32(w[k]), low = _mm256_set1_epi32(w[k + 1]);
		add(&upper, _mm256_shuffle_epi8(two(a + at, b + at), first), high, low);
		add(&lower, _mm256_shuffle_epi8(two(c + at, d + at), first), high, low);
	}
	__m256i words = _mm256_packs_epi32(finish(&upper), finish(&lower));
	return _mm256_packus_epi16(words, words);
}

/* columns_of is columns for windows of so many taps. */
INLINE void columns_of(ptrdiff_t taps, const struct columns *c, const uint8_t *const in[TOGETHER], uint8_t *const out[TOGETHER]) {
	const uint8_t *in0 = in[0], *in1 = in[1], *in2 = in[2], *in3 = in[3];
	uint8_t *out0 = out[0], *out1 = out[1], *out2 = out[2], *out3 = out[3];
	const int32_t *w = c->weights, *offset = c->offset, *last = offset + c->length - 1;
	for (;; offset++, w += taps) {
		ptrdiff_t at = *offset;
		__m256i p = pixel(w, taps, in0 + at, in1 + at, in2 + at, in3 + at);
		__m128i even = _mm256_castsi256_si128(p), odd = _mm256_extracti128_si256(p, 1);
		if (offset == last) {
			store3(out0, _mm_cvtsi128_si32(even));
			store3(out1, _mm_cvtsi128_si32(odd));
			store3(out2, _mm_extract_epi32(even, 1));
			store3(out3, _mm_extract_epi32(odd, 1));
			return;
		}
		/* The fourth byte is the next pixel's, which follows. */
		store4(out0, _mm_cvtsi128_si32(even));
		store4(out1, _mm_cvtsi128_si32(odd));
		store4(out2, _mm_extract_epi32(even, 1));
		store4(out3, _mm_extract_epi32(odd, 1));
		out0 += SAMPLES, out1 += SAMPLES, out2 += SAMPLES, out3 += SAMPLES;
	}
}

/* columns has the short windows unrolled. */
AVX2 static void columns(const struct columns *c, const uint8_t *const in[TOGETHER], uint8_t *const out[TOGETHER]) {
	switch (c->taps) {
	case 4: columns_of(4, c, in, out); return;
	case 6: columns_of(6, c, in, out); return;
	case 8: columns_of(8, c, in, out); return;
	default: columns_of(c->taps, c, in, out);
	}
}

/* The bytes that blend makes at once. */
#define CHUNK 32

INLINE void blend_chunk(const uint8_t *base, const ptrdiff_t *places, const int32_t *w, ptrdiff_t taps, uint8_t *out, ptrdiff_t at) {
	const __m256i zero = _mm256_setzero_si256();
	struct sums s0 = begin(), s1 = begin(), s2 = begin(), s3 = begin();
	for (ptrdiff_t k = 0; k < taps; k += 2) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(base + places[k] + at));
		__m256i b = _mm256_loadu_si256((const __m256i *)(base + places[k + 1] + at));
		__m256i high = _mm256_set1_epi32(w[k]), low = _mm256_set1_epi32(w[k + 1]);
		__m256i left = _mm256_unpacklo_epi8(a, b), right = _mm256_unpackhi_epi8(a, b);
		add(&s0, _mm256_unpacklo_epi8(left, zero), high, low);
		add(&s1, _mm256_unpackhi_epi8(left, zero), high, low);
		add(&s2, _mm256_unpacklo_epi8(right, zero), high, low);
		add(&s3, _mm256_unpackhi_epi8(right, zero), high, low);
	}
	__m256i left = _mm256_packs_epi32(finish(&s0), finish(&s1)), right = _mm256_packs_epi32(finish(&s2), finish(&s3));
	_mm256_storeu_si256((__m256i *)(out + at), _mm256_packus_epi16(left, right));
}

/* weight is the one that pack has split. */
static inline uint32_t weight(const int32_t *w, ptrdiff_t k) {
	int16_t pairs[4];
	memcpy(pairs, w + (k & ~(ptrdiff_t)1), sizeof pairs);
	return ((uint32_t)pairs[k & 1] << SPLIT) + (uint32_t)pairs[2 + (k & 1)];
}

AVX2 static void blend(const uint8_t *base, const ptrdiff_t *places, const int32_t *w, ptrdiff_t taps, uint8_t *out, ptrdiff_t n) {
	if (n < CHUNK) {
		for (ptrdiff_t i = 0; i < n; i++) {
			uint32_t sum = HALF;
			for (ptrdiff_t k = 0; k < taps; k++) sum += weight(w, k) * base[places[k] + i];
			out[i] = clip(sum);
		}
		return;
	}
	for (ptrdiff_t at = 0; at + CHUNK <= n; at += CHUNK) blend_chunk(base, places, w, taps, out, at);
	/* What is left is made together with its neighbours once more. */
	if (n % CHUNK) blend_chunk(base, places, w, taps, out, n - CHUNK);
}

static const struct passes passes = {.column_step = 2, .row_step = 2, .pack = pack, .columns = columns, .blend = blend};

const struct passes *triptych_avx2(void) {
	return __builtin_cpu_supports("avx2") ? &passes : NULL;
}
