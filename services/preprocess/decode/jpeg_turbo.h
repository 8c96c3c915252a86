//go:build cgo && !portable

#ifndef TRIPTYCH_JPEG_TURBO_H
#define TRIPTYCH_JPEG_TURBO_H

#include <stddef.h>

/* How a decode ended. */
enum {
	TRIPTYCH_JPEG_OK,
	TRIPTYCH_JPEG_TRUNCATED,
	TRIPTYCH_JPEG_CORRUPT,
	TRIPTYCH_JPEG_UNSUPPORTED,
	TRIPTYCH_JPEG_SCANS,
	TRIPTYCH_JPEG_MEMORY
};

/* Room for the library's message, a terminating zero included. */
#define TRIPTYCH_JPEG_MESSAGE 200

/*
 * triptych_jpeg_decode writes width * height pixels of 3 bytes (RGB)
 * and returns how it ended. A message is written unless that is OK. It keeps
 * nothing and may run in many threads.
 */
int triptych_jpeg_decode(const unsigned char *data, size_t size, unsigned char *pixels,
                         unsigned int width, unsigned int height, char *message);

#endif
