//go:build cgo && !portable

/*
 * JPEG by libjpeg-turbo. Errors leave by longjmp, which begins and ends inside
 * triptych_jpeg_decode: no frame of Go's is ever jumped over.
 */

#include "jpeg_turbo_decoder.h"

#include <string.h>

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

static uint64_t round_up(uint64_t n, unsigned int unit)
{
	return (n + unit - 1) / unit * unit;
}

/* coefficients is how many bytes the library is going to keep of all scans. */
static uint64_t coefficients(j_decompress_ptr cinfo)
{
	uint64_t n = 0;

	if (!jpeg_has_multiple_scans(cinfo))
		return 0;
	for (int i = 0; i < cinfo->num_components; i++) {
		const jpeg_component_info *c = &cinfo->comp_info[i];

		n += round_up(c->width_in_blocks, (unsigned int)c->h_samp_factor) *
		     round_up(c->height_in_blocks, (unsigned int)c->v_samp_factor) * sizeof(JBLOCK);
	}
	return n;
}

static void decode(j_decompress_ptr cinfo, struct decoder *d, const struct triptych_jpeg_view *view,
                   unsigned char *pixels)
{
	int missing;

	(void)jpeg_read_header(cinfo, TRUE);
	if (cinfo->image_width != view->width || cinfo->image_height != view->height ||
	    coefficients(cinfo) > view->coefficients)
		ERREXIT(cinfo, JERR_BAD_LENGTH);
	cinfo->out_color_space = cinfo->num_components == 4 ? JCS_CMYK : JCS_RGB;
	cinfo->dct_method = JDCT_ISLOW;
	cinfo->do_fancy_upsampling = TRUE;
	cinfo->scale_num = 1;
	cinfo->scale_denom = view->reduce;
	(void)jpeg_start_decompress(cinfo);
	if (view->right > cinfo->output_width || view->bottom > cinfo->output_height)
		ERREXIT(cinfo, JERR_BAD_CROP_SPEC);
	missing = incomplete(cinfo);
	if (d->ended && missing)
		triptych_jpeg_leave((j_common_ptr)cinfo, TRIPTYCH_JPEG_TRUNCATED);
	/* What is missing is smoothed over, in a way that looks far to both sides. */
	triptych_jpeg_rows(cinfo, view, !missing, pixels);
}

int triptych_jpeg_decode(const unsigned char *data, size_t size, const struct triptych_jpeg_view *view,
                         unsigned char *pixels, const uint32_t *stop, char *message)
{
	struct jpeg_decompress_struct cinfo;
	struct decoder d;

	memset(&cinfo, 0, sizeof(cinfo));
	memset(&d, 0, sizeof(d));
	d.message = message;
	d.stop = stop;
	triptych_jpeg_watch(&cinfo, &d);
	if (setjmp(d.escape) == 0) {
		jpeg_create_decompress(&cinfo);
		cinfo.progress = &d.progress;
		jpeg_mem_src(&cinfo, data, (unsigned long)size);
		decode(&cinfo, &d, view, pixels);
	}
	jpeg_destroy_decompress(&cinfo);
	return d.status;
}
