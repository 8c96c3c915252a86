//go:build cgo && !portable

/* From a file whose decoding has begun to the pixels of a part of the picture. */

#include "jpeg_turbo_decoder.h"

#include <string.h>

/*
 * How many blocks are passed over between two looks at whether to stop: a few
 * milliseconds. Arithmetic coding takes ten times as long for one.
 */
#define PASSED_OVER (1 << 15)
#define PASSED_OVER_ARITHMETIC (1 << 12)

/* Fancy upsampling is chosen by the width of a component, so it has to stay above this. */
#define NARROW 2

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/*
 * crops_exactly tells whether the library can decode columns from..to alone and
 * have all but the outermost equal to those of a whole decode. It mistakes the
 * width of components that are neither of full size nor reduced as the others are
 * (until 3.0.3), and upsamples narrow ones in another way.
 */
static int crops_exactly(j_decompress_ptr cinfo, unsigned int from, unsigned int to)
{
	for (int i = 0; i < cinfo->num_components; i++) {
		const jpeg_component_info *c = &cinfo->comp_info[i];
		int full = c->h_samp_factor * BLOCK_WIDTH(c) == cinfo->max_h_samp_factor * LEAST_BLOCK(cinfo) &&
			   c->v_samp_factor * BLOCK_WIDTH(c) == cinfo->max_v_samp_factor * LEAST_BLOCK(cinfo);

		if (!full && BLOCK_WIDTH(c) != LEAST_BLOCK(cinfo))
			return 0;
		if ((to - from) * (unsigned int)c->h_samp_factor / (unsigned int)cinfo->max_h_samp_factor <= NARROW)
			return 0;
	}
	return 1;
}

/*
 * crop leaves out columns far from the wanted ones, and returns which is the
 * first that stays. Upsampling looks at neighbors, so a unit of blocks is kept on
 * both sides.
 */
static unsigned int crop(j_decompress_ptr cinfo, const struct triptych_jpeg_view *view)
{
	JDIMENSION unit = (JDIMENSION)(LEAST_BLOCK(cinfo) * cinfo->max_h_samp_factor);
	JDIMENSION from = view->left / unit, to = (view->right + unit - 1) / unit + 1, width;

	from = from > 0 ? (from - 1) * unit : 0;
	to = least(to * unit, cinfo->output_width);
	width = to - from;
	if (width == cinfo->output_width || !crops_exactly(cinfo, from, to))
		return 0;
	jpeg_crop_scanline(cinfo, &from, &width);
	return from;
}

/* blocks_per_row is how many blocks a row of units has. */
static unsigned int blocks_per_row(j_decompress_ptr cinfo)
{
	unsigned int n = 0;

	for (int i = 0; i < cinfo->num_components; i++)
		n += cinfo->comp_info[i].width_in_blocks * (unsigned int)cinfo->comp_info[i].v_samp_factor;
	return n;
}

/* read_over goes to a row and drops the pixels of those before it. */
static void read_over(j_decompress_ptr cinfo, unsigned int row, JSAMPARRAY aside)
{
	while (cinfo->output_scanline < row)
		if (jpeg_read_scanlines(cinfo, aside, 1) == 0)
			ERREXIT(cinfo, JERR_CANT_SUSPEND);
}

/*
 * pass_over goes to a row without making pixels of those before it. The library
 * takes for granted that it makes at most two rows at a time, and goes astray
 * when it makes four.
 */
static void pass_over(j_decompress_ptr cinfo, unsigned int row, JSAMPARRAY aside)
{
	unsigned int unit = (unsigned int)(LEAST_BLOCK(cinfo) * cinfo->max_v_samp_factor);
	unsigned int most = (cinfo->arith_code ? PASSED_OVER_ARITHMETIC : PASSED_OVER) / blocks_per_row(cinfo);
	unsigned int step = unit * (most > 1 ? most : 1);

	if (cinfo->max_v_samp_factor > 2) {
		read_over(cinfo, row, aside);
		return;
	}
	while (cinfo->output_scanline < row) {
		/* From unit to unit, for within one the library may lose count of pairs. */
		unsigned int next = (cinfo->output_scanline / unit) * unit + step;

		triptych_jpeg_poll(cinfo);
		next = least(next, row) - cinfo->output_scanline;
		if (jpeg_skip_scanlines(cinfo, next) != next)
			ERREXIT(cinfo, JERR_CANT_SUSPEND);
	}
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

/* pass_to_end decodes what is behind the wanted rows, for faults in it are faults of the file. */
static void pass_to_end(j_decompress_ptr cinfo, JSAMPARRAY aside)
{
	if (jpeg_has_multiple_scans(cinfo))
		return; /* all has been decoded before the first row */
	if (cinfo->output_scanline < cinfo->output_height) {
		pass_over(cinfo, cinfo->output_height - 1, aside);
		read_over(cinfo, cinfo->output_height, aside);
	}
	(void)jpeg_finish_decompress(cinfo);
}

/*
 * The library writes rows that are aligned past the caches, which is right only
 * for results that are larger. All else goes through rows that are out of step
 * and stay in the nearest cache.
 */
#define LARGE (1 << 20)
#define OUT_OF_STEP 4

/* rows_aside lends rows for what is not written straight into the result. */
static void rows_aside(j_decompress_ptr cinfo, JSAMPARRAY rows)
{
	JDIMENSION n = (JDIMENSION)cinfo->max_v_samp_factor;
	JSAMPARRAY lent = (*cinfo->mem->alloc_sarray)((j_common_ptr)cinfo, JPOOL_IMAGE,
						      cinfo->output_width * (JDIMENSION)cinfo->output_components + OUT_OF_STEP, n);

	for (JDIMENSION i = 0; i < n; i++)
		rows[i] = lent[i] + OUT_OF_STEP;
}

void triptych_jpeg_rows(j_decompress_ptr cinfo, const struct triptych_jpeg_view *view, int exact_crop,
                        unsigned char *pixels)
{
	unsigned int width = view->right - view->left, group = (unsigned int)cinfo->max_v_samp_factor;
	int ink = cinfo->output_components == 4;
	JSAMPROW aside[MAX_SAMP_FACTOR], rows[MAX_SAMP_FACTOR];
	unsigned int left = exact_crop ? crop(cinfo, view) : 0;
	size_t stride = (size_t)width * 3;
	int direct = !ink && width == cinfo->output_width && stride * (view->bottom - view->top) > LARGE;

	rows_aside(cinfo, aside);
	pass_over(cinfo, view->top, aside);
	while (cinfo->output_scanline < view->bottom) {
		unsigned char *to = pixels + (cinfo->output_scanline - view->top) * stride;
		JDIMENSION n = least(group, view->bottom - cinfo->output_scanline);

		for (JDIMENSION i = 0; i < n; i++)
			rows[i] = direct ? to + i * stride : aside[i];
		n = jpeg_read_scanlines(cinfo, rows, n);
		if (n == 0)
			ERREXIT(cinfo, JERR_CANT_SUSPEND);
		for (JDIMENSION i = 0; i < n && !direct; i++, to += stride) {
			const unsigned char *from = rows[i] + (size_t)(view->left - left) * cinfo->output_components;

			if (ink)
				ink_to_rgb(from, to, width);
			else
				memcpy(to, from, stride);
		}
	}
	pass_to_end(cinfo, aside);
}
