/* given.c: the layout that buffers bring along, as their hints. */
#include "steps.h"

struct given {
	const struct buffers *buffers;
	int64_t alignment;
	int64_t *offset;           /* -1: not yet */
	uint32_t *alive, *ending;  /* buffers that keep their places: by offset, and by end with the next one last */
	uint32_t count;
};

/* A heap of buffers by their ends, to know which one goes next. */
static void given_push(struct given *given, uint32_t buffer)
{
	const int64_t *upper = given->buffers->upper;
	uint32_t i = given->count;
	for (; i > 0 && upper[given->ending[(i - 1) / 2]] > upper[buffer]; i = (i - 1) / 2)
		given->ending[i] = given->ending[(i - 1) / 2];
	given->ending[i] = buffer;
}

/* Takes the first one out; count is what stays. */
static void given_pop(struct given *given)
{
	const int64_t *upper = given->buffers->upper;
	uint32_t last = given->ending[given->count], i = 0;
	for (uint32_t next = 1; next < given->count; next = 2 * i + 1) {
		next += next + 1 < given->count && upper[given->ending[next + 1]] < upper[given->ending[next]];
		if (upper[given->ending[next]] >= upper[last])
			break;
		given->ending[i] = given->ending[next];
		i = next;
	}
	given->ending[i] = last;
}

/* The first of alive that doesn't lie below an offset. */
static uint32_t given_position(const struct given *given, int64_t offset)
{
	uint32_t low = 0, high = given->count;
	BISECT(low, high, middle, given->offset[given->alive[middle]] < offset);
	return low;
}

static int64_t given_size_of(const struct given *given, uint32_t buffer)
{
	return align_up(given->buffers->size[buffer], given->alignment);
}

static void end_before(struct given *given, int64_t step)
{
	while (given->count && given->buffers->upper[given->ending[0]] <= step) {
		uint32_t at = given_position(given, given->offset[given->ending[0]]);
		given->count--;
		memmove(given->alive + at, given->alive + at + 1, (given->count - at) * sizeof *given->alive);
		given_pop(given);
	}
}

static int64_t own_alignment(const struct given *given, uint32_t buffer)
{
	return given->buffers->alignment ? given->buffers->alignment[buffer] : 1;
}

/* The lowest aligned offset from one on. */
static int64_t given_aligned(const struct given *given, uint32_t buffer, int64_t offset)
{
	int64_t own = own_alignment(given, buffer);
	return align_up(offset, own / common_divisor(own, given->alignment) * given->alignment);
}

/* What keeps its place: of two that are in each other's way the one that began first. */
static void given_keep(struct given *given, uint32_t buffer)
{
	int64_t want = given->buffers->hint ? given->buffers->hint[buffer] : -1;
	if (want < 0 || want % given->alignment || want % own_alignment(given, buffer) || want > BYTES_MAX)
		return;
	uint32_t at = given_position(given, want);
	bool below = at > 0 && given->offset[given->alive[at - 1]] + given_size_of(given, given->alive[at - 1]) > want;
	bool above = at < given->count && want + given_size_of(given, buffer) > given->offset[given->alive[at]];
	if (below || above)
		return;
	given->offset[buffer] = want;
	memmove(given->alive + at + 1, given->alive + at, (given->count - at) * sizeof *given->alive);
	given->alive[at] = buffer;
	given_push(given, buffer);
	given->count++;
}

struct taken { int64_t from, to; };

COMPARATOR(compare_taken, struct taken, COMPARE(a->from, b->from, 0))

/* Into the lowest hole among all that have a place. */
static void given_place(struct given *given, uint32_t buffer, struct taken *taken)
{
	const struct buffers *buffers = given->buffers;
	uint32_t count = 0;
	int64_t at = 0;
	FOR(i, buffers->n)
		if (given->offset[i] >= 0 && buffers->size[i] > 0 && buffers->lower[i] < buffers->upper[buffer] &&
			buffers->lower[buffer] < buffers->upper[i])
			taken[count++] = (struct taken){ given->offset[i], given->offset[i] + given_size_of(given, i) };
	SORT(taken, count, compare_taken);
	FOR_WHILE(i, count, taken[i].from < at + given_size_of(given, buffer))
		at = taken[i].to > at ? given_aligned(given, buffer, taken[i].to) : at;
	given->offset[buffer] = at;
}

struct begun { int64_t lower; uint32_t buffer; };

COMPARATOR(compare_begun, struct begun, COMPARE(a->lower, b->lower, COMPARE(a->buffer, b->buffer, 0)))

static enum status given_solve(
	struct given *given, struct begun *begun, struct taken *taken, struct control *control, uint32_t *moved)
{
	const struct buffers *buffers = given->buffers;
	FOR(i, buffers->n) {
		begun[i] = (struct begun){ buffers->lower[i], i };
		given->offset[i] = -1;
	}
	SORT(begun, buffers->n, compare_begun);
	FOR(i, buffers->n) {
		end_before(given, begun[i].lower);
		if (buffers->size[begun[i].buffer] > 0)
			given_keep(given, begun[i].buffer);
		else
			given->offset[begun[i].buffer] = 0;
	}
	FOR(i, buffers->n) {
		if (given->offset[begun[i].buffer] >= 0)
			continue;
		++*moved;
		given_place(given, begun[i].buffer, taken);
		if (control_spend(control, buffers->n))
			return control_status(control);
	}
	return OK;
}

enum status layout_given(
	const struct buffers *buffers, int64_t alignment, struct control *control, int64_t *offset, uint32_t *moved)
{
	struct given given = { .buffers = buffers, .alignment = alignment, .offset = offset };
	OWN(arena) arena = { 0 };
	struct begun *begun;
	struct taken *taken;
	uint32_t n = buffers->n;
	*moved = 0;
	NEED(ROOMS(&arena, n, begun, taken, given.alive, given.ending));
	return given_solve(&given, begun, taken, control, moved);
}
