/* check_links.c: do groups lie as they must, and is no place taken without leave? Independent of the solvers.
 *
 * Where a place has been taken the smaller of the two buffers is looked at without the step that they share: then
 * nothing may overlap any more, and layout_check() says whether it does.
 */
#include "links.h"

/* Groups: each buffer behind the one before, at its alignment. */
static enum status check_groups(const struct buffers *buffers, const uint32_t *behind, int64_t alignment, const int64_t *offset,
				struct error *error)
{
	for (uint32_t i = 0; i < buffers->n; i++) {
		if (behind[i] == NONE || behind[i] == i)
			continue;
		int64_t end = offset[behind[i]] + align_up(buffers->size[behind[i]], alignment);
		int64_t step = common_multiple(alignment, buffers->alignment ? buffers->alignment[i] : 1);
		if (offset[i] != align_up(end, step))
			return fail(error, BAD_INPUT, "buffers %u and %u are not next to each other as their group wants", behind[i], i);
	}
	return OK;
}

/* Whether the donor is one of those listed, its last step the buffer's first. */
static bool may_take(const struct buffers *buffers, const struct layout_links *links, uint32_t i, uint32_t donor)
{
	bool listed = false;
	FOR_ROW(k, &links->donors, i)
		listed |= links->donors.item[k] == donor;
	return listed && buffers->upper[donor] - 1 == buffers->lower[i] && buffers->lower[donor] < buffers->lower[i];
}

static enum status check_donors(const struct buffers *buffers, const struct layout_links *links, const int64_t *offset,
				const uint32_t *donor, int64_t *lower, int64_t *upper, struct error *error)
{
	for (uint32_t i = 0; i < buffers->n; i++) {
		uint32_t from = donor[i];
		if (from == NONE)
			continue;
		if (from >= buffers->n || !may_take(buffers, links, i, from))
			return fail(error, BAD_INPUT, "buffer %u has taken a place that it may not take", i);
		if (offset[i] != offset[from])
			return fail(error, BAD_INPUT, "buffer %u is not at the place of buffer %u that it has taken", i, from);
		if (buffers->size[from] > buffers->size[i])
			lower[i]++;
		else
			upper[from]--;
	}
	return OK;
}

/* The buffers cut to what is left of their lives. Pieces without a rest are left out, and buffers without pieces with them. */
static void cut(const struct buffers *buffers, struct buffers *rest)
{
	for (uint32_t i = 0; i < buffers->n; i++) {
		uint32_t pieces = 0;
		for (uint32_t k = buffers->piece_start[i]; k < buffers->piece_start[i + 1]; k++) {
			struct piece piece = buffers->piece[k];
			piece.lower = piece.lower < rest->lower[i] ? rest->lower[i] : piece.lower;
			piece.upper = piece.upper > rest->upper[i] ? rest->upper[i] : piece.upper;
			if (piece.lower < piece.upper)
				rest->piece[rest->piece_start[i] + pieces++] = piece;
		}
		rest->piece_start[i + 1] = rest->piece_start[i] + pieces;
		if (pieces == 0 && buffers->piece_start[i + 1] > buffers->piece_start[i])
			rest->size[i] = 0;
	}
}

static enum status copy(const struct buffers *buffers, struct arena *arena, struct buffers *rest)
{
	uint32_t n = buffers->n;
	*rest = *buffers;
	rest->lower = arena_alloc(arena, n, sizeof *rest->lower);
	rest->upper = arena_alloc(arena, n, sizeof *rest->upper);
	rest->size = arena_alloc(arena, n, sizeof *rest->size);
	NEED(rest->lower && rest->upper && rest->size);
	memcpy(rest->lower, buffers->lower, n * sizeof *rest->lower);
	memcpy(rest->upper, buffers->upper, n * sizeof *rest->upper);
	memcpy(rest->size, buffers->size, n * sizeof *rest->size);
	if (!buffers->piece_start)
		return OK;
	rest->piece_start = arena_alloc(arena, (size_t)n + 1, sizeof *rest->piece_start);
	rest->piece = arena_alloc(arena, buffers->piece_start[n], sizeof *rest->piece);
	return rest->piece_start && rest->piece ? OK : NO_MEMORY;
}

/* No overlaps of what is left; the load as layout_load() has it, so that only places are looked at. */
static enum status check_rest(const struct buffers *rest, int64_t alignment, const int64_t *offset, int64_t arena, struct error *error)
{
	struct layout layout = { .offset = mem_alloc(rest->n, sizeof *layout.offset), .arena = arena };
	NEED(layout.offset);
	memcpy(layout.offset, offset, rest->n * sizeof *offset);
	layout.load = layout.proof.bound = layout_load(rest, alignment, &layout.moment);
	enum status status = layout.load < 0 ? NO_MEMORY : layout_check(rest, alignment, &layout, error);
	layout_free(&layout);
	return status;
}

enum status layout_check_links(const struct buffers *buffers, const struct layout_links *links, int64_t alignment, const int64_t *offset,
			       const uint32_t *donor, int64_t arena, struct error *error)
{
	OWN(arena) memory = { 0 };
	struct buffers rest;
	enum status status = copy(buffers, &memory, &rest);
	if (status == OK && links->behind)
		status = check_groups(buffers, links->behind, alignment, offset, error);
	if (status == OK && donor && links->donors.start)
		status = check_donors(buffers, links, offset, donor, rest.lower, rest.upper, error);
	if (status == OK && buffers->piece_start)
		cut(buffers, &rest);
	/* An empty life breaks a rule of layout_check(), a size of 0 does not. */
	for (uint32_t i = 0; status == OK && i < buffers->n; i++) {
		if (rest.lower[i] < rest.upper[i])
			continue;
		rest.lower[i] = rest.upper[i] - 1;
		rest.size[i] = 0;
	}
	THEN(status, check_rest(&rest, alignment, offset, arena, error));
	return status;
}
