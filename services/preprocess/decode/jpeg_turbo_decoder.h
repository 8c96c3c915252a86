//go:build cgo && !portable

#ifndef TRIPTYCH_JPEG_TURBO_DECODER_H
#define TRIPTYCH_JPEG_TURBO_DECODER_H

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>

#include "jpeg_turbo.h"

/* What one decode knows beside what the library does. */
struct decoder {
	struct jpeg_error_mgr errors; /* first, so that cinfo->err is the decoder */
	struct jpeg_progress_mgr progress;
	jmp_buf escape;
	int status;
	int ended;           /* the data ended before the end-of-image marker */
	uint64_t work, most; /* blocks that scans went over, and how many may be */
	int scan;            /* whose work is being counted */
	const uint32_t *stop;
	char *message;
};

/* The end of a scaled block's side: its name depends on the library's interface. */
#if JPEG_LIB_VERSION >= 70
#define BLOCK_WIDTH(component) ((component)->DCT_h_scaled_size)
#define LEAST_BLOCK(cinfo) ((cinfo)->min_DCT_h_scaled_size)
#else
#define BLOCK_WIDTH(component) ((component)->DCT_scaled_size)
#define LEAST_BLOCK(cinfo) ((cinfo)->min_DCT_scaled_size)
#endif

/* triptych_jpeg_leave ends a decode with this status and the library's message. */
void triptych_jpeg_leave(j_common_ptr cinfo, int status);

/* triptych_jpeg_watch has the library report its errors and progress to d. */
void triptych_jpeg_watch(j_decompress_ptr cinfo, struct decoder *d);

/* triptych_jpeg_poll ends a decode that is to stop. */
void triptych_jpeg_poll(j_decompress_ptr cinfo);

/* triptych_jpeg_rows reads the view's part of a picture whose output has begun. */
void triptych_jpeg_rows(j_decompress_ptr cinfo, const struct triptych_jpeg_view *view, int exact_crop,
                        unsigned char *pixels);

#endif
