//go:build cgo && !portable

/* WebP by libwebp, step by step, so that the caller can give up in between. */

#include "webp_lib.h"

#include <stdlib.h>

#include <webp/decode.h>

struct triptych_webp {
	WebPDecoderConfig config;
	WebPIDecoder *decoder;
};

static void set_up(WebPDecoderConfig *config, const struct triptych_webp_task *task)
{
	config->output.colorspace = task->alpha ? MODE_RGBA : MODE_RGB;
	config->output.is_external_memory = 1;
	config->output.u.RGBA.rgba = task->pixels;
	config->output.u.RGBA.stride = task->stride;
	config->output.u.RGBA.size = task->room;
	if (task->columns == task->width && task->rows == task->height)
		return;
	config->options.use_cropping = 1;
	config->options.crop_left = task->left;
	config->options.crop_top = task->top;
	config->options.crop_width = task->columns;
	config->options.crop_height = task->rows;
}

int triptych_webp_begin(const struct triptych_webp_task *task, struct triptych_webp **decoder)
{
	struct triptych_webp *made = calloc(1, sizeof(*made));
	int status = VP8_STATUS_INVALID_PARAM;

	if (made == NULL)
		return VP8_STATUS_OUT_OF_MEMORY;
	if (!WebPInitDecoderConfig(&made->config))
		goto failed;
	status = WebPGetFeatures(task->data, task->size, &made->config.input);
	if (status != VP8_STATUS_OK)
		goto failed;
	status = VP8_STATUS_BITSTREAM_ERROR;
	if (made->config.input.width != task->width || made->config.input.height != task->height)
		goto failed;
	set_up(&made->config, task);
	status = VP8_STATUS_OUT_OF_MEMORY;
	made->decoder = WebPIDecode(NULL, 0, &made->config);
	if (made->decoder == NULL)
		goto failed;
	*decoder = made;
	return VP8_STATUS_OK;
failed:
	free(made);
	return status;
}

int triptych_webp_feed(struct triptych_webp *decoder, const uint8_t *data, size_t size)
{
	return WebPIUpdate(decoder->decoder, data, size);
}

void triptych_webp_end(struct triptych_webp *decoder)
{
	WebPIDelete(decoder->decoder);
	WebPFreeDecBuffer(&decoder->config.output);
	free(decoder);
}
