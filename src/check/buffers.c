/* buffers.c: do the places that a result gives to buffers hold? Every pair that is alive together is compared. */
#include "check.h"

#include <inttypes.h>
#include <stdarg.h>

/* A rectangle that must be its buffer's alone. */
struct part { int64_t lower, upper, bottom, top; uint32_t buffer; };

struct look {
	const struct buffers_csv *csv;
	const struct buffers_places *places;
	struct part *part;
	size_t parts;
	struct error *error;
};

static enum status check_buffers_wrong(struct error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static enum status check_buffers_wrong(struct error *error, const char *format, ...)
{
	va_list arguments;
	char text[400];
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return fail(error, INFEASIBLE, "%s", text);
}

#define ID(look, i) (int)((look)->csv->id[i].length < 100 ? (look)->csv->id[i].length : 100), (look)->csv->id[i].text

static int64_t up(int64_t value, int64_t step)
{
	return (value + step - 1) / step * step;
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* What the buffer's offset is a multiple of. */
static int64_t check_buffers_step_of(const struct look *look, uint32_t i)
{
	int64_t own = look->csv->buffers.alignment ? look->csv->buffers.alignment[i] : 1;
	return look->places->alignment / greatest_divisor(look->places->alignment, own) * own;
}

/* ---- each buffer by itself ---- */

static enum status check_place(const struct look *look, uint32_t i)
{
	const struct buffers *buffers = &look->csv->buffers;
	int64_t offset = look->places->offset[i], step = check_buffers_step_of(look, i);
	if (offset < 0 || offset > BYTES_MAX || buffers->size[i] > BYTES_MAX)
		return check_buffers_wrong(look->error, "%.*s is at %" PRId64 ", which is not a valid offset", ID(look, i), offset);
	if (buffers->fixed && buffers->fixed[i] >= 0 && offset != buffers->fixed[i])
		return check_buffers_wrong(
			look->error, "%.*s is at %" PRId64 ", and is pinned to %" PRId64, ID(look, i), offset, buffers->fixed[i]);
	if (offset % step != 0 && !(buffers->fixed && buffers->fixed[i] >= 0))
		return check_buffers_wrong(
			look->error, "%.*s is at %" PRId64 ", which is not a multiple of %" PRId64, ID(look, i), offset, step);
	return OK;
}

/* ---- pairs ---- */

static void check_buffers_add_part(struct look *look, uint32_t i, int64_t lower, int64_t upper)
{
	int64_t size = look->csv->buffers.size[i], offset = look->places->offset[i];
	if (lower < upper && size > 0)
		look->part[look->parts++] = (struct part){ lower, upper, offset, offset + up(size, look->places->alignment), i };
}

static void add_parts(struct look *look)
{
	const struct buffers *buffers = &look->csv->buffers;
	FOR(i, buffers->n) {
		uint32_t first = buffers->piece_start ? buffers->piece_start[i] : 0,
				 last = buffers->piece_start ? buffers->piece_start[i + 1] : 0;
		FOR_FROM(k, first, last)
			check_buffers_add_part(look, i, buffers->piece[k].lower, buffers->piece[k].upper);
		if (first == last)
			check_buffers_add_part(look, i, buffers->lower[i], buffers->upper[i]);
	}
}

COMPARATOR(by_lower, struct part, COMPARE(a->lower, b->lower, COMPARE(a->buffer, b->buffer, 0)))

/* Each part against all that are still there when it begins; live [parts] holds those. */
static enum status check_pairs(const struct look *look, size_t *live)
{
	size_t count = 0;
	FOR_SIZE(b, look->parts) {
		const struct part *new = &look->part[b];
		size_t kept = 0;
		FOR_SIZE(k, count) {
			const struct part *old = &look->part[live[k]];
			if (old->upper <= new->lower)
				continue;
			live[kept++] = live[k];
			if (old->bottom < new->top && new->bottom < old->top)
				return check_buffers_wrong(look->error,
					"%.*s and %.*s overlap at %" PRId64 ", from step %" PRId64 " on", ID(look, old->buffer),
					ID(look, new->buffer), LARGER(old->bottom, new->bottom), new->lower);
		}
		count = kept;
		live[count++] = b;
	}
	return OK;
}

/* ---- sums ---- */

struct change { int64_t step, bytes; };

/* What ends at a step is gone at it. */
COMPARATOR(check_buffers_by_step, struct change, COMPARE(a->step, b->step, COMPARE(a->bytes, b->bytes, 0)))

static enum status check_buffers_sum_up(const struct look *look, struct buffers_sums *sums)
{
	struct change *MAKE(change, look->parts * 2);
	int64_t alive = 0;
	NEEDED(look->error, change);
	FOR_SIZE(k, look->parts) {
		const struct part *part = &look->part[k];
		change[2 * k] = (struct change){ part->lower, part->top - part->bottom };
		change[2 * k + 1] = (struct change){ part->upper, part->bottom - part->top };
		if (part->top > sums->arena)
			sums->arena = part->top;
	}
	qsort(change, look->parts * 2, sizeof *change, check_buffers_by_step);
	FOR_SIZE(k, look->parts * 2) {
		alive += change[k].bytes;
		if (alive > sums->load)
			sums->load = alive;
	}
	mem_free(change);
	return OK;
}

enum status buffers_check(
	const struct buffers_csv *csv, const struct buffers_places *places, struct buffers_sums *sums, struct error *error)
{
	const struct buffers *buffers = &csv->buffers;
	size_t room = (size_t)buffers->n + (buffers->piece_start ? buffers->piece_start[buffers->n] : 0);
	OWN(arena) arena = { 0 };
	struct look look = {
		.csv = csv, .places = places, .part = arena_alloc(&arena, room, sizeof *look.part), .error = error
	};
	size_t *live = NULL;
	TRY(ROOM(&arena, live, room) && look.part ? OK : fail_memory(error));
	*sums = (struct buffers_sums){ 0 };
	FOR(i, buffers->n)
		TRY(check_place(&look, i));
	add_parts(&look);
	qsort(look.part, look.parts, sizeof *look.part, by_lower);
	TRY(check_pairs(&look, live));
	return check_buffers_sum_up(&look, sums);
}
