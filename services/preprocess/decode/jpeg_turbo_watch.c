//go:build cgo && !portable

/* What ends a decode before its time: faults of the file, too much work, a caller who has gone. */

#include "jpeg_turbo_decoder.h"

/*
 * The work of a file of many scans is counted in blocks of 8x8 samples that a
 * scan goes over, whether or not it says anything of them. An ordinary
 * progressive file has ten scans, which go over each block six times. FLOOR lets
 * small pictures have a hundred scans and more: it is a tenth of a second at most.
 */
#define PASSES 24
#define FLOOR (1 << 20)
/*
 * How many times the work a scan is with arithmetic coding. As it packs what is
 * likely into next to nothing, the length of the file does not bound it.
 */
#define ARITHMETIC 3
/* What it costs to begin a scan, in blocks. */
#define SCAN 1000

void triptych_jpeg_leave(j_common_ptr cinfo, int status)
{
	struct decoder *d = (struct decoder *)cinfo->err;
	char text[JMSG_LENGTH_MAX];

	(*cinfo->err->format_message)(cinfo, text);
	snprintf(d->message, TRIPTYCH_JPEG_MESSAGE, "%s", text);
	d->status = status == TRIPTYCH_JPEG_CORRUPT && d->ended ? TRIPTYCH_JPEG_TRUNCATED : status;
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
		triptych_jpeg_leave(cinfo, TRIPTYCH_JPEG_UNSUPPORTED);
		break;
	case JERR_OUT_OF_MEMORY:
		triptych_jpeg_leave(cinfo, TRIPTYCH_JPEG_MEMORY);
		break;
	case JERR_INPUT_EOF:
	case JERR_INPUT_EMPTY:
		triptych_jpeg_leave(cinfo, TRIPTYCH_JPEG_TRUNCATED);
		break;
	default:
		triptych_jpeg_leave(cinfo, TRIPTYCH_JPEG_CORRUPT);
	}
}

/*
 * The end of the data alone does not end a decode: a file that lacks only its
 * last marker has all its pixels. When that is not so, a warning follows, save
 * for arithmetic coding: there zeros behind the end are data. As a coder may leave
 * out zeros at the end of a scan, only rows above the last are missed.
 */
static void on_end(j_decompress_ptr cinfo, struct decoder *d)
{
	d->ended = 1;
	if (cinfo->arith_code && cinfo->input_iMCU_row + 1 < cinfo->total_iMCU_rows)
		triptych_jpeg_leave((j_common_ptr)cinfo, TRIPTYCH_JPEG_TRUNCATED);
}

/* Warnings that mean made-up pixels end the decode at once. */
static void on_message(j_common_ptr cinfo, int level)
{
	if (level >= 0)
		return;
	switch (cinfo->err->msg_code) {
	case JWRN_JPEG_EOF:
		on_end((j_decompress_ptr)cinfo, (struct decoder *)cinfo->err);
		break;
	case JWRN_HIT_MARKER:
	case JWRN_HUFF_BAD_CODE:
	case JWRN_ARITH_BAD_CODE:
	case JWRN_MUST_RESYNC:
		triptych_jpeg_leave(cinfo, TRIPTYCH_JPEG_CORRUPT);
	}
}

static void on_output(j_common_ptr cinfo)
{
	(void)cinfo;
}

void triptych_jpeg_poll(j_decompress_ptr cinfo)
{
	struct decoder *d = (struct decoder *)cinfo->err;

	if (__atomic_load_n(d->stop, __ATOMIC_RELAXED))
		triptych_jpeg_leave((j_common_ptr)cinfo, TRIPTYCH_JPEG_STOPPED);
}

/* blocks is how many blocks the components have. */
static uint64_t blocks(j_decompress_ptr cinfo)
{
	uint64_t n = 0;

	for (int c = 0; c < cinfo->num_components; c++)
		n += (uint64_t)cinfo->comp_info[c].width_in_blocks * cinfo->comp_info[c].height_in_blocks;
	return n;
}

/* next_row is the work of the next row of the scan. */
static uint64_t next_row(j_decompress_ptr cinfo)
{
	uint64_t units = (uint64_t)cinfo->MCUs_per_row * (cinfo->arith_code ? ARITHMETIC : 1);

	if (cinfo->comps_in_scan == 1)
		return units * (unsigned int)cinfo->cur_comp_info[0]->v_samp_factor;
	return units * (unsigned int)cinfo->blocks_in_MCU;
}

/*
 * on_progress is called before each row of a scan that is put by, and before each
 * row of pixels. Only a file of many scans has the former, and they come first.
 */
static void on_progress(j_common_ptr common)
{
	j_decompress_ptr cinfo = (j_decompress_ptr)common;
	struct decoder *d = (struct decoder *)common->err;

	triptych_jpeg_poll(cinfo);
	if (!jpeg_has_multiple_scans(cinfo) || jpeg_input_complete(cinfo))
		return;
	if (d->most == 0)
		d->most = FLOOR + PASSES * blocks(cinfo);
	if (d->scan != cinfo->input_scan_number) {
		d->scan = cinfo->input_scan_number;
		d->work += SCAN;
	}
	if ((d->work += next_row(cinfo)) > d->most)
		triptych_jpeg_leave(common, TRIPTYCH_JPEG_SCANS);
}

void triptych_jpeg_watch(j_decompress_ptr cinfo, struct decoder *d)
{
	cinfo->err = jpeg_std_error(&d->errors);
	d->errors.error_exit = on_error;
	d->errors.emit_message = on_message;
	d->errors.output_message = on_output;
	d->progress.progress_monitor = on_progress;
}
