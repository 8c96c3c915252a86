//go:build cgo && !portable && (amd64 || arm64)

/* Drives the two passes: which rows are made when, and where they lie meanwhile. */

#include "vector.h"
#include "passes.h"

#include <string.h>

/* Rows between the passes: row y lies at base + (y - origin) % held * stride. */
struct lines {
	const uint8_t *base;
	ptrdiff_t stride, origin, held;
};

struct work {
	const struct passes *passes;
	triptych_resizing r;
	struct columns columns;
	int32_t *row_weights;
	ptrdiff_t row_taps;
	ptrdiff_t *places;
	uint8_t *between;
	ptrdiff_t between_stride, held;
	uint8_t *tail;
	ptrdiff_t reach;
	/* the source columns that are needed, and whether they are the result's */
	int32_t from, to;
	int as_is;
};

static const struct passes *passes_of(int instructions) {
#if defined(__x86_64__)
	return instructions == TRIPTYCH_NEON ? NULL : triptych_avx2();
#else
	return instructions == TRIPTYCH_AVX2 ? NULL : triptych_neon();
#endif
}

static ptrdiff_t round_up(ptrdiff_t n, ptrdiff_t step) { return (n + step - 1) / step * step; }

static ptrdiff_t most(const triptych_axis *a) {
	ptrdiff_t n = 0;
	for (ptrdiff_t i = 0; i < a->length; i++) n = a->count[i] > n ? a->count[i] : n;
	return n;
}

static void span(const triptych_axis *a, int32_t *from, int32_t *to) {
	*from = INT32_MAX, *to = 0;
	for (ptrdiff_t i = 0; i < a->length; i++) {
		if (a->first[i] < *from) *from = a->first[i];
		if (a->first[i] + a->count[i] > *to) *to = a->first[i] + a->count[i];
	}
}

/* take cuts a piece off the scratch memory, which may be null to only count. */
static void *take(uint8_t *scratch, size_t *used, ptrdiff_t bytes) {
	void *piece = scratch ? scratch + *used : NULL;
	*used += (size_t)round_up(bytes, 64);
	return piece;
}

/* lay_out fills in sizes and places, and returns how much memory that takes. */
static size_t lay_out(struct work *w, uint8_t *scratch) {
	const triptych_axis *columns = &w->r.columns, *rows = &w->r.rows;
	size_t used = 0;
	span(columns, &w->from, &w->to);
	ptrdiff_t read = SAMPLES * (ptrdiff_t)(w->r.rows_first ? w->to - w->from : w->r.picture.width);
	w->columns.length = columns->length;
	if (columns->weights) {
		w->columns.taps = round_up(most(columns), w->passes->column_step);
		w->columns.offset = take(scratch, &used, columns->length * (ptrdiff_t)sizeof(int32_t));
		w->columns.weights = take(scratch, &used, columns->length * w->columns.taps * (ptrdiff_t)sizeof(int32_t));
	}
	/* Wherever a window begins, its last load ends before this. */
	w->reach = read + round_up(w->columns.taps, 4) * SAMPLES + LOAD;
	w->tail = take(scratch, &used, TOGETHER * w->reach);
	if (!rows->weights) return used;
	ptrdiff_t deepest = most(rows);
	w->row_taps = round_up(deepest, w->passes->row_step);
	w->row_weights = take(scratch, &used, rows->length * w->row_taps * (ptrdiff_t)sizeof(int32_t));
	w->places = take(scratch, &used, w->row_taps * (ptrdiff_t)sizeof(ptrdiff_t));
	w->held = w->r.rows_first ? TOGETHER : deepest + TOGETHER - 1;
	w->between_stride = round_up(w->r.rows_first ? w->reach : SAMPLES * columns->length, 64);
	w->between = take(scratch, &used, w->held * w->between_stride);
	return used;
}

/*
 * prepare_columns places windows of equal length. One that would pass the end
 * of the row begins earlier, with weights of zero; width is how many pixels a
 * row has from column w->from on.
 */
static void prepare_columns(struct work *w, int32_t width) {
	const triptych_axis *a = &w->r.columns;
	struct columns *c = &w->columns;
	ptrdiff_t furthest = 0;
	memset(c->weights, 0, (size_t)(c->length * c->taps) * sizeof(int32_t));
	for (ptrdiff_t i = 0; i < c->length; i++) {
		ptrdiff_t first = a->first[i] - w->from, shift = first + c->taps - width;
		shift = shift < 0 ? 0 : shift > first ? first : shift;
		c->offset[i] = (int32_t)(SAMPLES * (first - shift));
		memcpy(c->weights + i * c->taps + shift, a->weights + i * a->taps, (size_t)a->count[i] * sizeof(int32_t));
		if (c->offset[i] > furthest) furthest = c->offset[i];
	}
	w->passes->pack(c->weights, c->length * c->taps);
	w->reach = furthest + (round_up(c->taps, 4) / 4 - 1) * GROUP + LOAD;
}

static void prepare_rows(struct work *w) {
	const triptych_axis *a = &w->r.rows;
	memset(w->row_weights, 0, (size_t)(a->length * w->row_taps) * sizeof(int32_t));
	for (ptrdiff_t i = 0; i < a->length; i++)
		memcpy(w->row_weights + i * w->row_taps, a->weights + i * a->taps, (size_t)a->count[i] * sizeof(int32_t));
	w->passes->pack(w->row_weights, a->length * w->row_taps);
}

/* blend makes row y of the result out of lines. */
static void blend(const struct work *w, ptrdiff_t y, const struct lines *l, uint8_t *out, ptrdiff_t n) {
	ptrdiff_t count = w->r.rows.count[y], at = (w->r.rows.first[y] - l->origin) % l->held;
	for (ptrdiff_t k = 0; k < count; k++) {
		w->places[k] = at * l->stride;
		if (++at == l->held) at = 0;
	}
	/* Weights of zero need something to read. */
	ptrdiff_t taps = round_up(count, w->passes->row_step);
	for (ptrdiff_t k = count; k < taps; k++) w->places[k] = w->places[0];
	w->passes->blend(l->base, w->places, w->row_weights + y * w->row_taps, taps, out, n);
}

/* source is row y of the picture from column w->from on. Near the end of the picture it is a copy with room behind. */
static const uint8_t *source(const struct work *w, int32_t y, int k) {
	const triptych_picture *p = &w->r.picture;
	ptrdiff_t stride = SAMPLES * (ptrdiff_t)p->width, at = (y - p->top) * stride + SAMPLES * (ptrdiff_t)(w->from - p->left);
	ptrdiff_t rest = p->height * stride - at;
	if (w->r.columns.weights == NULL || rest >= w->reach) return p->pix + at;
	uint8_t *copy = w->tail + k * w->reach;
	memcpy(copy, p->pix + at, (size_t)rest);
	return copy;
}

/* pick_columns copies pixels. */
static void pick_columns(const struct work *w, const uint8_t *row, uint8_t *out) {
	const triptych_axis *a = &w->r.columns;
	if (w->as_is) {
		memcpy(out, row, (size_t)(SAMPLES * a->length));
		return;
	}
	for (ptrdiff_t x = 0; x < a->length; x++, out += SAMPLES) {
		const uint8_t *p = row + SAMPLES * (ptrdiff_t)(a->first[x] - w->from);
		out[0] = p[0], out[1] = p[1], out[2] = p[2];
	}
}

/* rows_first makes rows of the result, some together. At the end the last one stands in for those that are missing. */
static void rows_first(struct work *w) {
	const triptych_axis *rows = &w->r.rows;
	ptrdiff_t stride = SAMPLES * (ptrdiff_t)w->r.picture.width, n = SAMPLES * (ptrdiff_t)(w->to - w->from);
	struct lines picture = {w->r.picture.pix + SAMPLES * (ptrdiff_t)(w->from - w->r.picture.left), stride, w->r.picture.top, PTRDIFF_MAX};
	for (ptrdiff_t y = 0; y < rows->length; y += TOGETHER) {
		const uint8_t *in[TOGETHER];
		uint8_t *out[TOGETHER];
		for (int k = 0; k < TOGETHER; k++) {
			ptrdiff_t at = y + k < rows->length ? y + k : rows->length - 1;
			out[k] = w->r.target + at * w->r.stride;
			if (at != y + k) {
				in[k] = in[k - 1];
			} else if (rows->weights == NULL) {
				in[k] = source(w, rows->first[at], k);
			} else if (w->as_is) {
				blend(w, at, &picture, out[k], n);
			} else {
				blend(w, at, &picture, w->between + k * w->between_stride, n);
				in[k] = w->between + k * w->between_stride;
			}
			if (w->r.columns.weights == NULL && !(w->as_is && rows->weights)) pick_columns(w, in[k], out[k]);
		}
		if (w->r.columns.weights) w->passes->columns(&w->columns, in, out);
	}
}

/* fill makes rows from next on, up to end, and returns which one comes then. */
static int32_t fill(struct work *w, const struct lines *l, int32_t next, int32_t end) {
	const uint8_t *in[TOGETHER];
	uint8_t *out[TOGETHER];
	for (int k = 0; k < TOGETHER; k++) {
		if (next + k >= end) {
			in[k] = in[k - 1], out[k] = out[k - 1];
			continue;
		}
		in[k] = source(w, next + k, k);
		out[k] = w->between + (next + k - l->origin) % l->held * l->stride;
	}
	w->passes->columns(&w->columns, in, out);
	return next + TOGETHER < end ? next + TOGETHER : end;
}

/*
 * columns_first holds only the rows that the next row of the result is made of.
 * It goes through the picture from top to bottom, also where the result is
 * upside down.
 */
static void columns_first(struct work *w) {
	const triptych_axis *rows = &w->r.rows;
	int32_t next, end;
	span(rows, &next, &end);
	struct lines between = {w->between, w->between_stride, next, w->held};
	int down = rows->first[0] <= rows->first[rows->length - 1];
	for (ptrdiff_t i = 0; i < rows->length; i++) {
		ptrdiff_t y = down ? i : rows->length - 1 - i;
		if (rows->first[y] > next) next = rows->first[y];
		while (next < rows->first[y] + rows->count[y]) next = fill(w, &between, next, end);
		blend(w, y, &between, w->r.target + y * w->r.stride, SAMPLES * w->columns.length);
	}
}

size_t triptych_scratch(triptych_resizing r, int instructions) {
	struct work w = {.passes = passes_of(instructions), .r = r};
	return w.passes ? lay_out(&w, NULL) : 0;
}

void triptych_resize(triptych_resizing r, int instructions, void *scratch) {
	struct work w = {.passes = passes_of(instructions), .r = r};
	lay_out(&w, scratch);
	if (r.columns.weights && r.rows_first && r.rows.weights)
		prepare_columns(&w, w.to - w.from);
	else if (r.columns.weights)
		prepare_columns(&w, r.picture.left + r.picture.width - w.from);
	if (r.rows.weights) prepare_rows(&w);
	w.as_is = 1;
	for (ptrdiff_t x = 0; x < r.columns.length; x++) w.as_is &= r.columns.first[x] == w.from + x;
	w.as_is &= r.columns.weights == NULL;
	if (r.rows_first)
		rows_first(&w);
	else
		columns_first(&w);
}
