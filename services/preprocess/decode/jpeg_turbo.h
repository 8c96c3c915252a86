//go:build cgo && !portable

#ifndef TRIPTYCH_JPEG_TURBO_H
#define TRIPTYCH_JPEG_TURBO_H

#include <stddef.h>
#include <stdint.h>

/* How a decode ended. */
enum {
	TRIPTYCH_JPEG_OK,
	TRIPTYCH_JPEG_TRUNCATED,
	TRIPTYCH_JPEG_CORRUPT,
	TRIPTYCH_JPEG_UNSUPPORTED,
	TRIPTYCH_JPEG_SCANS,
	TRIPTYCH_JPEG_MEMORY,
	TRIPTYCH_JPEG_STOPPED
};

/* Room for the library's message, a terminating zero included. */
#define TRIPTYCH_JPEG_MESSAGE 200

/* What is wanted of a file. */
struct triptych_jpeg_view {
	/* What the file has been found to say: more is refused as corrupt. */
	unsigned int width, height;
	uint64_t coefficients; /* bytes */
	/* By how much both sides are divided: 1, 2, 4 or 8. */
	unsigned int reduce;
	/* The part of the divided picture, not empty, right and bottom excluded. */
	unsigned int left, top, right, bottom;
};

/*
 * triptych_jpeg_decode writes the pixels of the part, 3 bytes (RGB) each, and
 * returns how it ended. A message is written unless that is OK. It ends soon
 * after somebody else sets stop. It keeps nothing and may run in many threads.
 */
int triptych_jpeg_decode(const unsigned char *data, size_t size, const struct triptych_jpeg_view *view,
                         unsigned char *pixels, const uint32_t *stop, char *message);

#endif
