/* buffers.c: do the places that a result gives to buffers hold? Every pair that is alive together is compared.
 *
 * Where a buffer has taken another's place, the two share one step: the smaller of them is looked at without it. */
#include "buffers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A rectangle that must be its buffer's alone. */
struct part { int64_t lower, upper, bottom, top; uint32_t buffer; };

struct look {
	const struct buffers_csv *csv;
	const struct buffers_places *places;
	struct part *part;
	size_t parts;
	struct error *error;
};

static enum status wrong(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static enum status wrong(struct error *error, const char *format, ...)
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
static int64_t step_of(const struct look *look, uint32_t i)
{
	int64_t own = look->csv->buffers.alignment ? look->csv->buffers.alignment[i] : 1;
	return look->places->alignment / greatest_divisor(look->places->alignment, own) * own;
}

static uint32_t pool_of(const struct look *look, uint32_t i)
{
	return look->places->pool ? look->places->pool[i] : 0;
}

/* ---- each buffer by itself ------------------------------------------------------------------------------------------ */

static enum status check_place(const struct look *look, uint32_t i)
{
	const struct buffers *buffers = &look->csv->buffers;
	int64_t offset = look->places->offset[i], step = step_of(look, i);
	if (offset < 0 || offset > BYTES_MAX || buffers->size[i] > BYTES_MAX)
		return wrong(look->error, "%.*s lies at %" PRId64 ", which is no place", ID(look, i), offset);
	if (buffers->fixed && buffers->fixed[i] >= 0 && offset != buffers->fixed[i])
		return wrong(look->error, "%.*s lies at %" PRId64 ", and is pinned to %" PRId64, ID(look, i), offset, buffers->fixed[i]);
	if (offset % step != 0 && !look->places->simulated && !(buffers->fixed && buffers->fixed[i] >= 0))
		return wrong(look->error, "%.*s lies at %" PRId64 ", which is no multiple of %" PRId64, ID(look, i), offset, step);
	return OK;
}

/* The steps down its list that a buffer's pool is; -1: it isn't in the list. */
static int64_t steps_down(const struct buffers_csv *csv, uint32_t i, uint32_t pool)
{
	const struct csr *list = &csv->candidates;
	if (!list->start || list->start[i] == list->start[i + 1])
		return pool < (csv->pools ? csv->pools : 1) ? (int64_t)pool : -1;
	for (uint32_t k = list->start[i]; k < list->start[i + 1]; k++)
		if (list->item[k] == pool)
			return (int64_t)(k - list->start[i]);
	return -1;
}

static enum status check_pool(const struct look *look, uint32_t i, struct buffers_sums *sums)
{
	int64_t steps = steps_down(look->csv, i, pool_of(look, i)), size = look->csv->buffers.size[i], price = look->csv->spill_cost ? look->csv->spill_cost[i] : size;
	if (steps < 0)
		return wrong(look->error, "%.*s may not lie in its pool", ID(look, i));
	if (__builtin_mul_overflow(steps, price, &price) || __builtin_add_overflow(sums->spill_cost, price, &sums->spill_cost))
		return wrong(look->error, "what is spilled costs too much to be added up");
	sums->spilled += steps ? size : 0;
	sums->pool[pool_of(look, i)].buffers++;
	return OK;
}

/* ---- groups and places taken ---------------------------------------------------------------------------------------- */

static enum status check_group(const struct look *look, uint32_t i)
{
	const uint32_t *behind = look->csv->links.behind;
	if (!behind || behind[i] == NONE || behind[i] == i)
		return OK;
	uint32_t before = behind[i];
	if (pool_of(look, i) != pool_of(look, before))
		return wrong(look->error, "%.*s and %.*s are of one group, but in two pools", ID(look, before), ID(look, i));
	int64_t end = look->places->offset[before] + up(look->csv->buffers.size[before], look->places->alignment);
	if (look->places->offset[i] != up(end, step_of(look, i)))
		return wrong(look->error, "%.*s does not lie right behind %.*s, as their group wants", ID(look, i), ID(look, before));
	return OK;
}

/* The step that the two share is taken from the smaller one's life. taken [n]: by whom, NONE. */
static enum status check_donor(const struct look *look, uint32_t i, uint32_t *taken, int64_t *lower, int64_t *upper)
{
	const struct buffers *buffers = &look->csv->buffers;
	const struct csr *donors = &look->csv->links.donors;
	uint32_t from = look->places->donor ? look->places->donor[i] : NONE;
	bool listed = false;
	if (from == NONE)
		return OK;
	for (uint32_t k = donors->start ? donors->start[i] : 0, end = donors->start ? donors->start[i + 1] : 0; k < end; k++)
		listed |= donors->item[k] == from;
	if (!listed || from >= buffers->n)
		return wrong(look->error, "%.*s has taken a place that it may not take", ID(look, i));
	if (buffers->upper[from] - 1 != buffers->lower[i] || buffers->lower[from] >= buffers->lower[i])
		return wrong(look->error, "%.*s begins at another step than %.*s ends, whose place it has taken", ID(look, i), ID(look, from));
	if (taken[from] != NONE)
		return wrong(look->error, "%.*s and %.*s have both taken the place of %.*s", ID(look, taken[from]), ID(look, i), ID(look, from));
	if (look->places->offset[i] != look->places->offset[from] || pool_of(look, i) != pool_of(look, from))
		return wrong(look->error, "%.*s is not at the place of %.*s, which it has taken", ID(look, i), ID(look, from));
	taken[from] = i;
	if (buffers->size[from] > buffers->size[i])
		lower[i]++;
	else
		upper[from]--;
	return OK;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------ */

static void add_part(struct look *look, uint32_t i, struct piece piece, int64_t lower, int64_t upper)
{
	int64_t alignment = look->places->simulated ? 1 : look->places->alignment, offset = look->places->offset[i];
	piece.lower = piece.lower > lower ? piece.lower : lower;
	piece.upper = piece.upper < upper ? piece.upper : upper;
	if (piece.lower < piece.upper && piece.from < piece.to)
		look->part[look->parts++] = (struct part){ piece.lower, piece.upper, offset + piece.from / alignment * alignment, offset + up(piece.to, alignment), i };
}

static void add_parts(struct look *look, const int64_t *lower, const int64_t *upper)
{
	const struct buffers *buffers = &look->csv->buffers;
	for (uint32_t i = 0; i < buffers->n; i++) {
		uint32_t first = buffers->piece_start ? buffers->piece_start[i] : 0, last = buffers->piece_start ? buffers->piece_start[i + 1] : 0;
		for (uint32_t k = first; k < last; k++)
			add_part(look, i, buffers->piece[k], lower[i], upper[i]);
		if (first == last)
			add_part(look, i, (struct piece){ lower[i], upper[i], 0, buffers->size[i] }, lower[i], upper[i]);
	}
}

static int by_lower(const void *left, const void *right)
{
	const struct part *a = left, *b = right;
	return a->lower != b->lower ? (a->lower < b->lower ? -1 : 1) : (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

/* Each part against all that are still there when it begins; live [parts] holds those. */
static enum status check_pairs(const struct look *look, size_t *live)
{
	size_t count = 0;
	for (size_t b = 0; b < look->parts; b++) {
		const struct part *new = &look->part[b];
		size_t kept = 0;
		for (size_t k = 0; k < count; k++) {
			const struct part *old = &look->part[live[k]];
			if (old->upper <= new->lower)
				continue;
			live[kept++] = live[k];
			if (old->buffer != new->buffer && pool_of(look, old->buffer) == pool_of(look, new->buffer) && old->bottom < new->top && new->bottom < old->top)
				return wrong(look->error, "%.*s and %.*s lie over each other at %" PRId64 ", from step %" PRId64 " on", ID(look, old->buffer), ID(look, new->buffer),
					old->bottom > new->bottom ? old->bottom : new->bottom, new->lower);
		}
		count = kept;
		live[count++] = b;
	}
	return OK;
}

/* ---- sums --------------------------------------------------------------------------------------------------------------- */

struct change { int64_t step, bytes; uint32_t pool; };

static int by_step(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);   /* what ends at a step is gone at it */
}

static enum status sum_up(const struct look *look, struct buffers_sums *sums)
{
	struct change *change = mem_alloc(look->parts * 2, sizeof *change);
	int64_t alive[POOLS_MOST] = { 0 };
	NEED_IN(look->error, change);
	for (size_t k = 0; k < look->parts; k++) {
		const struct part *part = &look->part[k];
		uint32_t pool = pool_of(look, part->buffer);
		change[2 * k] = (struct change){ part->lower, part->top - part->bottom, pool };
		change[2 * k + 1] = (struct change){ part->upper, part->bottom - part->top, pool };
		if (part->top > sums->pool[pool].arena)
			sums->pool[pool].arena = part->top;
	}
	qsort(change, look->parts * 2, sizeof *change, by_step);
	for (size_t k = 0; k < look->parts * 2; k++) {
		alive[change[k].pool] += change[k].bytes;
		if (alive[change[k].pool] > sums->pool[change[k].pool].load)
			sums->pool[change[k].pool].load = alive[change[k].pool];
	}
	mem_free(change);
	return OK;
}

/* The arena also spans the room that groups keep for parts that are not there, even for those without bytes. */
static void reach(const struct look *look, struct buffers_sums *sums)
{
	for (uint32_t i = 0; i < look->csv->buffers.n; i++) {
		int64_t top = look->places->offset[i] + up(look->csv->buffers.size[i], look->places->simulated ? 1 : look->places->alignment);
		bool in_group = look->csv->links.behind && look->csv->links.behind[i] != NONE;
		if ((look->csv->buffers.size[i] > 0 || in_group) && top > sums->pool[pool_of(look, i)].arena)
			sums->pool[pool_of(look, i)].arena = top;
	}
}

enum status buffers_check(const struct buffers_csv *csv, const struct buffers_places *places, struct buffers_sums *sums, struct error *error)
{
	const struct buffers *buffers = &csv->buffers;
	size_t room = (size_t)buffers->n + (buffers->piece_start ? buffers->piece_start[buffers->n] : 0);
	OWN(arena) arena = { 0 };
	struct look look = { .csv = csv, .places = places, .part = arena_alloc(&arena, room, sizeof *look.part), .error = error };
	int64_t *lower = arena_alloc(&arena, buffers->n, sizeof *lower), *upper = arena_alloc(&arena, buffers->n, sizeof *upper);
	uint32_t *taken = arena_alloc(&arena, buffers->n, sizeof *taken);
	size_t *live = arena_alloc(&arena, room, sizeof *live);
	enum status status = look.part && lower && upper && taken && live ? OK : fail_memory(error);
	*sums = (struct buffers_sums){ 0 };
	for (uint32_t i = 0; i < buffers->n && status == OK; i++) {
		lower[i] = buffers->lower[i];
		upper[i] = buffers->upper[i];
		taken[i] = NONE;
		status = check_place(&look, i);
		THEN(status, check_pool(&look, i, sums));
	}
	for (uint32_t i = 0; i < buffers->n && status == OK; i++)
		if ((status = check_group(&look, i)) == OK)
			status = check_donor(&look, i, taken, lower, upper);
	if (status == OK) {
		add_parts(&look, lower, upper);
		qsort(look.part, look.parts, sizeof *look.part, by_lower);
		status = check_pairs(&look, live);
	}
	THEN(status, sum_up(&look, sums));
	reach(&look, sums);
	return status;
}

/* ---- the least that must be spilled -------------------------------------------------------------------------------------- */

#define TRIED_MOST 300000       /* choices */
#define STEPS_MOST 400

/* All choices of pools, one buffer or group after the other. What may take a place is not counted at its first step. */
struct tries {
	const struct buffers_csv *csv;
	const int64_t *capacity;
	int64_t alignment, bound;
	uint32_t *unit;            /* [n] the first buffer of its group */
	int64_t *step;             /* [steps] at which something begins */
	uint32_t steps;
	int64_t *load;             /* [pools * steps] */
	uint64_t tried;
};

/* Adds a unit to a pool, or takes it away; whether the pool still holds all. */
static bool put(struct tries *tries, uint32_t unit, uint32_t pool, int64_t sign)
{
	const struct buffers *buffers = &tries->csv->buffers;
	bool fits = true;
	for (uint32_t i = unit; i < buffers->n; i++) {
		bool takes = tries->csv->links.donors.start && csr_length(&tries->csv->links.donors, i) > 0;
		bool pieces = buffers->piece_start && buffers->piece_start[i] < buffers->piece_start[i + 1];
		if (tries->unit[i] != unit || pieces)
			continue;          /* what comes and goes is left out: less is needed without it */
		for (uint32_t k = 0; k < tries->steps; k++) {
			int64_t *load = &tries->load[(size_t)pool * tries->steps + k];
			if (tries->step[k] < buffers->lower[i] + takes || tries->step[k] >= buffers->upper[i])
				continue;
			*load += sign * up(buffers->size[i], tries->alignment);
			fits &= tries->capacity[pool] == 0 || *load <= tries->capacity[pool];
		}
	}
	return fits;
}

/* OK: every choice from here on costs at least the bound. */
static enum status try_from(struct tries *tries, uint32_t unit, int64_t cost)
{
	const struct buffers *buffers = &tries->csv->buffers;
	while (unit < buffers->n && tries->unit[unit] != unit)
		unit++;
	if (cost >= tries->bound)
		return OK;
	if (unit == buffers->n || ++tries->tried > TRIED_MOST)
		return LIMIT;
	int64_t price = 0;
	for (uint32_t i = unit; i < buffers->n; i++)
		price += tries->unit[i] == unit ? (tries->csv->spill_cost ? tries->csv->spill_cost[i] : buffers->size[i]) : 0;
	enum status status = OK;
	for (uint32_t pool = 0; pool < tries->csv->pools && status == OK; pool++) {
		int64_t steps = steps_down(tries->csv, unit, pool);
		if (steps < 0)
			continue;
		if (put(tries, unit, pool, 1))
			status = try_from(tries, unit + 1, cost + steps * price);
		put(tries, unit, pool, -1);
	}
	return status;
}

enum status buffers_check_spill_bound(const struct buffers_csv *csv, const int64_t *capacity, int64_t alignment, int64_t bound)
{
	const struct buffers *buffers = &csv->buffers;
	struct arena arena = { 0 };
	struct tries tries = { .csv = csv, .capacity = capacity, .alignment = alignment, .bound = bound };
	if (bound <= 0)
		return OK;
	if (buffers->n > STEPS_MOST)
		return LIMIT;
	tries.unit = arena_alloc(&arena, buffers->n, sizeof *tries.unit);
	tries.step = arena_alloc(&arena, buffers->n, sizeof *tries.step);
	tries.load = arena_alloc(&arena, (size_t)csv->pools * (buffers->n + 1), sizeof *tries.load);
	enum status status = tries.unit && tries.step && tries.load ? OK : NO_MEMORY;
	if (status == OK) {
		const uint32_t *behind = csv->links.behind;
		for (uint32_t i = 0; i < buffers->n; i++) {
			tries.unit[i] = i;
			while (behind && behind[tries.unit[i]] != NONE && behind[tries.unit[i]] != tries.unit[i])
				tries.unit[i] = behind[tries.unit[i]];
			tries.step[i] = buffers->lower[i];
		}
		tries.steps = buffers->n;
		qsort(tries.step, tries.steps, sizeof *tries.step, compare_int64);
		status = try_from(&tries, 0, 0);
	}
	arena_free(&arena);
	return status;
}
