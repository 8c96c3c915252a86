//go:build cgo && !portable && (amd64 || arm64)

#ifndef TRIPTYCH_RESAMPLE_VECTOR_H
#define TRIPTYCH_RESAMPLE_VECTOR_H

#include <stddef.h>
#include <stdint.h>

/* The instructions to compute with. */
enum { TRIPTYCH_BEST, TRIPTYCH_AVX2, TRIPTYCH_NEON };

/* A part of a picture: packed RGB rows without gaps, whose first pixel is (left, top). */
typedef struct {
	const uint8_t *pix;
	int32_t left, top, width, height;
} triptych_picture;

/* One side, as Axis in axis.go holds it. Without weights, it picks pixels. */
typedef struct {
	const int32_t *first, *count, *weights;
	ptrdiff_t length, taps;
} triptych_axis;

/* What to do. All that is read lies in the picture, and its size is never 0. */
typedef struct {
	triptych_picture picture;
	triptych_axis columns, rows;
	int rows_first;
	uint8_t *target;
	ptrdiff_t stride;
} triptych_resizing;

/* triptych_scratch is how much memory triptych_resize needs to work in; 0 if the CPU lacks the instructions. */
size_t triptych_scratch(triptych_resizing r, int instructions);

/* triptych_resize writes the result. It keeps nothing and may run in many threads. */
void triptych_resize(triptych_resizing r, int instructions, void *scratch);

#endif
