//go:build cgo && !portable

#ifndef TRIPTYCH_WEBP_LIB_H
#define TRIPTYCH_WEBP_LIB_H

#include <stddef.h>
#include <stdint.h>

/* What is to be decoded, and where to. */
struct triptych_webp_task {
	const uint8_t *data;
	size_t size;
	int width, height;              /* of the whole picture */
	int left, top, columns, rows;   /* the part that is wanted */
	uint8_t *pixels;
	size_t room;
	int stride;
	int alpha;                      /* RGBA rather than RGB */
};

struct triptych_webp;

/*
 * triptych_webp_begin sets up a decoder; the data and the pixels must stay where
 * they are until triptych_webp_end. It returns a status of libwebp.
 */
int triptych_webp_begin(const struct triptych_webp_task *task, struct triptych_webp **decoder);

/* triptych_webp_feed decodes what the first size bytes hold. */
int triptych_webp_feed(struct triptych_webp *decoder, const uint8_t *data, size_t size);

void triptych_webp_end(struct triptych_webp *decoder);

#endif
