/* compounds.c: what shares an offset becomes one buffer of several pieces. */
#include "links.h"

static int64_t own_alignment(const struct buffers *buffers, uint32_t i, int64_t alignment)
{
	return common_multiple(buffers->alignment ? buffers->alignment[i] : 1, alignment);
}

static int64_t fixed_at(const struct buffers *buffers, uint32_t i)
{
	return buffers->fixed && buffers->fixed[i] >= 0 ? buffers->fixed[i] : -1;
}

static uint32_t piece_count(const struct buffers *buffers, uint32_t i)
{
	return buffers->piece_start ? buffers->piece_start[i + 1] - buffers->piece_start[i] : 0;
}

static struct piece whole_piece(const struct buffers *buffers, uint32_t i)
{
	return (struct piece){ buffers->lower[i], buffers->upper[i], 0, buffers->size[i] };
}

/* Whether all of the buffer is there at the step. */
static bool whole_at(const struct buffers *buffers, uint32_t i, int64_t step)
{
	uint32_t pieces = piece_count(buffers, i);
	for (uint32_t k = 0; k < pieces; k++) {
		const struct piece *piece = &buffers->piece[buffers->piece_start[i] + k];
		if (piece->lower <= step && step < piece->upper && piece->from == 0 && piece->to == buffers->size[i])
			return true;
	}
	return pieces == 0;
}

bool layout_may_take(const struct buffers *buffers, const struct layout_links *links, uint32_t buffer, uint32_t donor)
{
	int64_t step = buffers->lower[buffer], fixed = fixed_at(buffers, buffer), other = fixed_at(buffers, donor);
	bool grouped = links->behind && (links->behind[buffer] != NONE || links->behind[donor] != NONE);
	return !grouped && buffers->lower[donor] < step && buffers->upper[donor] == step + 1 && buffers->size[buffer] > 0
		&& buffers->size[donor] > 0 && (fixed < 0 || other < 0 || fixed == other) && whole_at(buffers, buffer, step)
		&& whole_at(buffers, donor, step);
}

/* ---- pieces ---------------------------------------------------------------------------------------- */

struct joining {
	const struct buffers *buffers;
	const struct layout_links *links;
	const uint32_t *donor;
	int64_t alignment;
	uint32_t *next, *before;   /* [n] the buffer behind it in its compound, and the one before, or NONE */
	struct layout_compounds *compounds;
	struct layout_clash *clash;
	struct error *error;
};

/* Adds a piece of a compound; one that goes on where the last one ends makes it longer or higher. */
static void add_piece(struct buffers *compounds, uint32_t c, struct piece piece)
{
	uint32_t *end = &compounds->piece_start[c + 1];
	if (piece.lower >= piece.upper || piece.from >= piece.to)
		return;
	if (*end > compounds->piece_start[c]) {
		struct piece *last = &compounds->piece[*end - 1];
		if (last->from == piece.from && last->to == piece.to && last->upper == piece.lower) {
			last->upper = piece.upper;
			return;
		}
		if (last->lower == piece.lower && last->upper == piece.upper && last->to == piece.from) {
			last->to = piece.to;
			return;
		}
	}
	compounds->piece[(*end)++] = piece;
}

/* The larger of a buffer and the donor whose place it takes keeps the step at which both are there. */
static void add_pieces(const struct joining *joining, struct buffers *compounds, uint32_t c, uint32_t i, int64_t from)
{
	const struct buffers *buffers = joining->buffers;
	uint32_t pieces = piece_count(buffers, i), taker = joining->next[i];
	int64_t lower = buffers->lower[i], upper = buffers->upper[i];
	if (joining->donor && joining->donor[i] != NONE && buffers->size[joining->donor[i]] > buffers->size[i])
		lower++;
	if (taker != NONE && joining->donor && joining->donor[taker] == i && buffers->size[taker] >= buffers->size[i])
		upper--;
	for (uint32_t k = 0; k < (pieces ? pieces : 1); k++) {
		struct piece piece = pieces ? buffers->piece[buffers->piece_start[i] + k] : whole_piece(buffers, i);
		piece.from += from;
		piece.to = from + (piece.to == buffers->size[i] ? align_up(piece.to, joining->alignment) : piece.to);
		piece.lower = piece.lower < lower ? lower : piece.lower;
		piece.upper = piece.upper > upper ? upper : piece.upper;
		add_piece(compounds, c, piece);
	}
}

/* ---- compounds ------------------------------------------------------------------------------------- */

static enum status allocate(struct joining *joining)
{
	struct layout_compounds *compounds = joining->compounds;
	struct buffers *made = &compounds->buffers;
	struct arena *arena = &compounds->arena;
	uint32_t n = joining->buffers->n;
	size_t pieces = n;
	for (uint32_t i = 0; i < n; i++)
		pieces += piece_count(joining->buffers, i);
	compounds->whole = arena_alloc(arena, n, sizeof *compounds->whole);
	compounds->from = arena_alloc(arena, n, sizeof *compounds->from);
	made->lower = arena_alloc(arena, n, sizeof *made->lower);
	made->upper = arena_alloc(arena, n, sizeof *made->upper);
	made->size = arena_alloc(arena, n, sizeof *made->size);
	made->alignment = arena_alloc(arena, n, sizeof *made->alignment);
	made->fixed = arena_alloc(arena, n, sizeof *made->fixed);
	made->hint = arena_alloc(arena, n, sizeof *made->hint);
	made->piece_start = arena_alloc(arena, (size_t)n + 1, sizeof *made->piece_start);
	made->piece = arena_alloc(arena, pieces, sizeof *made->piece);
	joining->next = mem_alloc(n, sizeof *joining->next);
	joining->before = mem_alloc(n, sizeof *joining->before);
	return compounds->whole && compounds->from && made->lower && made->upper && made->size && made->alignment && made->fixed
		&& made->hint && made->piece_start && made->piece && joining->next && joining->before ? OK : NO_MEMORY;
}

static void chain(struct joining *joining)
{
	const uint32_t *behind = joining->links->behind;
	uint32_t n = joining->buffers->n;
	for (uint32_t i = 0; i < n; i++)
		joining->next[i] = NONE;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t before = behind && behind[i] != NONE ? behind[i] : joining->donor ? joining->donor[i] : NONE;
		joining->before[i] = before == i ? NONE : before;
		if (joining->before[i] != NONE)
			joining->next[before] = i;
	}
}

/* Where a buffer lies in its compound, behind what ends at `end`. */
static int64_t place_in(const struct joining *joining, uint32_t i, int64_t end)
{
	bool grouped = joining->links->behind && joining->links->behind[i] != NONE;
	return grouped ? align_up(end, own_alignment(joining->buffers, i, joining->alignment)) : 0;
}

/* A pin of one buffer pins the compound. */
static enum status add_pin(struct joining *joining, uint32_t c, uint32_t i, uint32_t *pinned)
{
	const struct buffers *buffers = joining->buffers;
	struct buffers *made = &joining->compounds->buffers;
	int64_t fixed = fixed_at(buffers, i), from = joining->compounds->from[i];
	if (fixed < 0)
		return OK;
	uint32_t other = *pinned != NONE ? *pinned : joining->before[i] != NONE ? joining->before[i] : i;
	if (fixed < from)
		*joining->clash = (struct layout_clash){ LAYOUT_CLASH_BEHIND, { other, i }, { fixed, from } };
	else if (*pinned != NONE && made->fixed[c] != fixed - from)
		*joining->clash = (struct layout_clash){ LAYOUT_CLASH_GROUP, { other, i }, { 0 } };
	if (joining->clash->kind != LAYOUT_CLASH_NONE)
		return layout_clash_fail(joining->clash, joining->error);
	made->fixed[c] = fixed - from;
	*pinned = i;
	return OK;
}

/* A piece that is all of the compound need not be listed. */
static void drop_whole(struct buffers *made, uint32_t c)
{
	const struct piece *piece = &made->piece[made->piece_start[c]];
	if (made->piece_start[c + 1] == made->piece_start[c] + 1 && piece->lower == made->lower[c] && piece->upper == made->upper[c]
	    && piece->from == 0 && piece->to == made->size[c])
		made->piece_start[c + 1]--;
}

/* Makes compound c of a chain of buffers. */
static enum status join_chain(struct joining *joining, uint32_t c, uint32_t head)
{
	const struct buffers *buffers = joining->buffers;
	struct layout_compounds *compounds = joining->compounds;
	struct buffers *made = &compounds->buffers;
	uint32_t pinned = NONE;
	enum status status = OK;
	made->lower[c] = buffers->lower[head];
	made->upper[c] = buffers->upper[head];
	made->alignment[c] = 1;
	made->fixed[c] = made->hint[c] = -1;
	made->piece_start[c + 1] = made->piece_start[c];
	for (uint32_t i = head; i != NONE && status == OK; i = joining->next[i]) {
		int64_t from = place_in(joining, i, made->size[c]), top = from + align_up(buffers->size[i], joining->alignment);
		if (top > BYTES_MAX)
			return fail(joining->error, BAD_INPUT, "the buffers' sizes add up to too much");
		compounds->whole[i] = c;
		compounds->from[i] = from;
		made->lower[c] = buffers->lower[i] < made->lower[c] ? buffers->lower[i] : made->lower[c];
		made->upper[c] = buffers->upper[i] > made->upper[c] ? buffers->upper[i] : made->upper[c];
		made->alignment[c] = common_multiple(made->alignment[c], own_alignment(buffers, i, 1));
		if (made->hint[c] < 0 && buffers->hint && buffers->hint[i] >= from)
			made->hint[c] = buffers->hint[i] - from;
		status = add_pin(joining, c, i, &pinned);
		made->size[c] = top > made->size[c] ? top : made->size[c];
		if (buffers->size[i] > 0)
			add_pieces(joining, made, c, i, from);
	}
	drop_whole(made, c);
	return status;
}

enum status layout_links_join(const struct buffers *buffers, const struct layout_links *links, int64_t alignment, const uint32_t *donor,
			      struct layout_compounds *compounds, struct layout_clash *clash, struct error *error)
{
	struct joining joining = { .buffers = buffers, .links = links, .donor = donor, .alignment = alignment, .compounds = compounds,
				   .clash = clash, .error = error };
	*compounds = (struct layout_compounds){ 0 };
	*clash = LAYOUT_NO_CLASH;
	enum status status = allocate(&joining);
	if (status == OK)
		chain(&joining);
	for (uint32_t i = 0; i < buffers->n && status == OK; i++)
		if (joining.before[i] == NONE)
			status = join_chain(&joining, compounds->buffers.n++, i);
	if (status == OK && compounds->buffers.piece_start[compounds->buffers.n] == 0)
		compounds->buffers.piece_start = NULL;
	mem_free(joining.next);
	mem_free(joining.before);
	if (status != OK)
		layout_compounds_free(compounds);
	return status;
}

void layout_compounds_free(struct layout_compounds *compounds)
{
	arena_free(&compounds->arena);
	*compounds = (struct layout_compounds){ 0 };
}

void layout_compounds_spread(const struct layout_compounds *compounds, uint32_t n, const int64_t *whole, int64_t *offset)
{
	for (uint32_t i = 0; i < n; i++)
		offset[i] = whole[compounds->whole[i]] + compounds->from[i];
}

/* ---- the relaxation -------------------------------------------------------------------------------- */

/* The largest donor whose place a buffer may take, as bytes; 0: none. */
static int64_t largest_donor(const struct buffers *buffers, const struct layout_links *links, uint32_t i)
{
	int64_t largest = 0;
	FOR_ROW(k, &links->donors, i) {
		uint32_t donor = links->donors.item[k];
		if (buffers->size[donor] > largest && layout_may_take(buffers, links, i, donor))
			largest = buffers->size[donor];
	}
	return largest;
}

/* The buffer's pieces, its first step without what the donor has there. */
static void relax_pieces(const struct buffers *buffers, uint32_t i, int64_t donor, int64_t alignment, struct buffers *relaxed)
{
	uint32_t pieces = piece_count(buffers, i), *end = &relaxed->piece_start[i + 1];
	int64_t first = buffers->lower[i], left = align_up(buffers->size[i], alignment) - align_up(donor, alignment);
	*end = relaxed->piece_start[i];
	for (uint32_t k = 0; k < (donor && !pieces ? 1 : pieces); k++) {
		struct piece piece = pieces ? buffers->piece[buffers->piece_start[i] + k] : whole_piece(buffers, i);
		if (donor && piece.lower == first) {
			if (left > 0)
				relaxed->piece[(*end)++] = (struct piece){ first, first + 1, 0, left };
			piece.lower++;
		}
		if (piece.lower < piece.upper)
			relaxed->piece[(*end)++] = piece;
	}
	if (donor && *end == relaxed->piece_start[i])
		relaxed->size[i] = 0;
}

enum status layout_links_relax(const struct buffers *buffers, const struct layout_links *links, int64_t alignment, struct arena *arena,
			       struct buffers *relaxed)
{
	uint32_t n = buffers->n;
	size_t pieces = (size_t)2 * n;
	for (uint32_t i = 0; i < n; i++)
		pieces += piece_count(buffers, i);
	*relaxed = *buffers;
	relaxed->size = arena_alloc(arena, n, sizeof *relaxed->size);
	relaxed->piece_start = arena_alloc(arena, (size_t)n + 1, sizeof *relaxed->piece_start);
	relaxed->piece = arena_alloc(arena, pieces, sizeof *relaxed->piece);
	NEED(relaxed->size && relaxed->piece_start && relaxed->piece);
	memcpy(relaxed->size, buffers->size, n * sizeof *relaxed->size);
	for (uint32_t i = 0; i < n; i++)
		relax_pieces(buffers, i, links->donors.start ? largest_donor(buffers, links, i) : 0, alignment, relaxed);
	return OK;
}
