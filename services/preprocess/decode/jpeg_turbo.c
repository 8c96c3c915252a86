//go:build cgo && !portable

/*
 * JPEG by libjpeg-turbo. Errors leave by longjmp, which begins and ends inside
 * triptych_jpeg_decode: no frame of Go's is ever jumped over.
 */

#include "jpeg_turbo.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

/* A progressive file needs about ten scans; thousands are an attack. */
#define MAX_SCANS 100

struct decoder {
	struct jpeg_error_mgr errors; /* first, so that cinfo->err is the decoder */
	struct jpeg_progress_mgr progress;
	jmp_buf escape;
	int status;
	int ended; /* the data ended before the end-of-image marker */
	char *message;
};

static void leave(j_common_ptr cinfo, int status)
{
	struct decoder *d = (struct decoder *)cinfo->err;
	char text[JMSG_LENGTH_MAX];

	(*cinfo->err->format_message)(cinfo, text);
	snprintf(d->message, TRIPTYCH_JPEG_MESSAGE, "%s", text);
	d->status = status;
	longjmp(d->escape, 1);
}

static void on_error(j_common_ptr cinfo)
{
	switch (cinfo->err->msg_code) {
	case JERR_SOF_UNSUPPORTED:
	case JERR_BAD_PRECISION:
	case JERR_BAD_J_COLORSPACE:
	case JERR_CONVERSION_NOTIMPL:
	case JERR_CCIR601_NOTIMPL:
	case JERR_FRACT_SAMPLE_NOTIMPL:
	case JERR_NOT_COMPILED:
	case JERR_COMPONENT_COUNT:
		leave(cinfo, TRIPTYCH_JPEG_UNSUPPORTED);
		break;
	case JERR_OUT_OF_MEMORY:
		leave(cinfo, TRIPTYCH_JPEG_MEMORY);
		break;
	case JERR_INPUT_EOF:
	case JERR_INPUT_EMPTY:
		leave(cinfo, TRIPTYCH_JPEG_TRUNCATED);
		break;
	default:
		leave(cinfo, TRIPTYCH_JPEG_CORRUPT);
	}
}

/*
 * Warnings that mean made-up pixels end the decode at once. The end of the data
 * alone does not: a file that lacks only its last marker has all its pixels.
 */
static void on_message(j_common_ptr cinfo, int level)
{
	struct decoder *d = (struct decoder *)cinfo->err;

	if (level >= 0)
		return;
	switch (cinfo->err->msg_code) {
	case JWRN_JPEG_EOF:
		d->ended = 1;
		break;
	case JWRN_HIT_MARKER:
	case JWRN_HUFF_BAD_CODE:
	case JWRN_ARITH_BAD_CODE:
	case JWRN_MUST_RESYNC:
		leave(cinfo, d->ended ? TRIPTYCH_JPEG_TRUNCATED : TRIPTYCH_JPEG_CORRUPT);
	}
}

static void on_output(j_common_ptr cinfo)
{
	(void)cinfo;
}

static void on_progress(j_common_ptr cinfo)
{
	if (((j_decompress_ptr)cinfo)->input_scan_number > MAX_SCANS)
		leave(cinfo, TRIPTYCH_JPEG_SCANS);
}

/* incomplete tells whether scans are missing from a file of many scans. */
static int incomplete(j_decompress_ptr cinfo)
{
	for (int c = 0; c < cinfo->num_components; c++) {
		if (cinfo->comp_info[c].quant_table == NULL)
			return 1;
		for (int k = 0; cinfo->coef_bits != NULL && k < DCTSIZE2; k++)
			if (cinfo->coef_bits[c][k] != 0)
				return 1;
	}
	return 0;
}

/* multiply is a * b / 255, rounded, as Pillow does it. */
static unsigned int multiply(unsigned int a, unsigned int b)
{
	unsigned int v = a * b + 128;

	return ((v >> 8) + v) >> 8;
}

/*
 * ink_to_rgb turns a row of CMYK into RGB. Files with four components
 * hold inverted ink, as Adobe writes it. As Pillow, that is taken for granted.
 */
static void ink_to_rgb(const unsigned char *ink, unsigned char *rgb, unsigned int width)
{
	for (; width > 0; width--, ink += 4, rgb += 3)
		for (int i = 0; i < 3; i++)
			rgb[i] = (unsigned char)(ink[3] - multiply(255 - ink[i], ink[3]));
}

static void decode(j_decompress_ptr cinfo, struct decoder *d, unsigned char *pixels,
                   unsigned int width, unsigned int height)
{
	JSAMPARRAY inks = NULL;
	int ink;

	(void)jpeg_read_header(cinfo, TRUE);
	if (cinfo->image_width != width || cinfo->image_height != height)
		ERREXIT(cinfo, JERR_BAD_LENGTH);
	ink = cinfo->num_components == 4;
	cinfo->out_color_space = ink ? JCS_CMYK : JCS_RGB;
	cinfo->dct_method = JDCT_ISLOW;
	cinfo->do_fancy_upsampling = TRUE;
	(void)jpeg_start_decompress(cinfo);
	if (d->ended && incomplete(cinfo))
		leave((j_common_ptr)cinfo, TRIPTYCH_JPEG_TRUNCATED);
	if (ink)
		inks = (*cinfo->mem->alloc_sarray)((j_common_ptr)cinfo, JPOOL_IMAGE, width * 4, 1);
	while (cinfo->output_scanline < cinfo->output_height) {
		JSAMPROW row = pixels + (size_t)cinfo->output_scanline * width * 3;

		if (jpeg_read_scanlines(cinfo, ink ? inks : &row, 1) != 1)
			ERREXIT(cinfo, JERR_CANT_SUSPEND);
		if (ink)
			ink_to_rgb(inks[0], row, width);
	}
	(void)jpeg_finish_decompress(cinfo);
}

int triptych_jpeg_decode(const unsigned char *data, size_t size, unsigned char *pixels,
                         unsigned int width, unsigned int height, char *message)
{
	struct jpeg_decompress_struct cinfo;
	struct decoder d;

	memset(&cinfo, 0, sizeof(cinfo));
	memset(&d, 0, sizeof(d));
	d.message = message;
	d.progress.progress_monitor = on_progress;
	cinfo.err = jpeg_std_error(&d.errors);
	d.errors.error_exit = on_error;
	d.errors.emit_message = on_message;
	d.errors.output_message = on_output;
	if (setjmp(d.escape) == 0) {
		jpeg_create_decompress(&cinfo);
		cinfo.progress = &d.progress;
		jpeg_mem_src(&cinfo, data, (unsigned long)size);
		decode(&cinfo, &d, pixels, width, height);
	}
	jpeg_destroy_decompress(&cinfo);
	return d.status;
}
