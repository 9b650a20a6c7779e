/* check_core.c: do a few buffers fit a capacity? A plain search that shares no code with the solvers.
 *
 * Of all layouts within the capacity take one with the smallest sum of offsets, equal buffers by number. In it every
 * buffer rests: it lies at the lowest place, aligned and clear of the pinned ones, above those of lesser (offset,
 * number) that it meets. So buffers are placed one by one in that order, each at its lowest place. A branch ends
 *   - where at some step what is to come does not fit above the lowest place it can start from;
 *   - where a buffer's place has been passed and nothing is to come that could lift it;
 *   - where a buffer would leave room for another one below: that one could be lowered. */
#include "layout.h"

#define CORE_MOST 64       /* sets are words */

struct state { int64_t low[CORE_MOST], start[CORE_MOST]; };

struct core_check {
	uint32_t n;
	int64_t capacity, size[CORE_MOST], alignment[CORE_MOST], fixed[CORE_MOST];
	uint64_t meets[CORE_MOST];         /* who is alive together */
	uint64_t equals[CORE_MOST];        /* equal ones of lesser number */
	uint64_t free, *moment;            /* sets alive at the steps where something starts */
	uint32_t moments;
	struct state state[CORE_MOST + 1]; /* by depth */
	uint64_t nodes;
};

/* for each member b of a set */
#define FOR_SET(b, set) \
	for (uint64_t of_##b = (set), b; of_##b && (b = (uint64_t)__builtin_ctzll(of_##b), true); of_##b &= of_##b - 1)

static int64_t lowest_place(const struct core_check *check, uint64_t b, int64_t from)
{
	int64_t place = align_up(from, check->alignment[b]);
	/* Once clear of a pinned one by going up, another one may be in the way. */
	for (bool moved = true; moved;) {
		moved = false;
		FOR_SET(p, check->meets[b] & ~check->free) {
			if (check->fixed[p] < place + check->size[b] && place < check->fixed[p] + check->size[p]) {
				place = align_up(check->fixed[p] + check->size[p], check->alignment[b]);
				moved = true;
			}
		}
	}
	return place;
}

/* Fills in where each buffer that is to come starts at least; false where one cannot be placed any more. */
static bool check_core_find_starts(
	struct core_check *check, struct state *state, uint64_t rest, int64_t offset, uint64_t number)
{
	FOR_SET(b, rest) {
		state->start[b] = state->low[b];
		if (state->low[b] > offset || (state->low[b] == offset && b >= number))
			continue;
		int64_t lift = INT64_MAX;
		FOR_SET(c, check->meets[b] & rest) {
			int64_t top = LARGER(state->low[c], offset) + check->size[c];
			lift = SMALLER(top, lift);
		}
		if (lift == INT64_MAX)
			return false;
		state->start[b] = lowest_place(check, b, lift);
	}
	return true;
}

static bool fits_above(const struct core_check *check, const struct state *state, uint64_t alive, uint64_t rest)
{
	int64_t floor = INT64_MAX, sum = 0;
	FOR_SET(b, alive & rest) {
		floor = SMALLER(state->start[b], floor);
		sum += check->size[b];
	}
	if (sum == 0)
		return true;
	FOR_SET(p, alive & ~check->free) {
		int64_t top = check->fixed[p] + check->size[p], bottom = LARGER(check->fixed[p], floor);
		sum += top > bottom ? top - bottom : 0;
	}
	return floor + sum <= check->capacity;
}

/* OK: what is left can be placed from (offset, number) on. */
static enum status place_rest(struct core_check *check, uint32_t depth, uint64_t rest, int64_t offset, uint64_t number)
{
	struct state *state = &check->state[depth], *next = state + 1;
	if (rest == 0)
		return OK;
	if (check->nodes == 0)
		return LIMIT;
	check->nodes--;
	if (!check_core_find_starts(check, state, rest, offset, number))
		return INFEASIBLE;
	FOR(i, check->moments)
		if (!fits_above(check, state, check->moment[i], rest))
			return INFEASIBLE;
	int64_t hole = INT64_MAX;
	FOR_SET(b, rest)
		if (state->low[b] + check->size[b] < hole)
			hole = state->low[b] + check->size[b];
	FOR_SET(b, rest) {
		int64_t low = state->low[b], top = low + check->size[b];
		if (low < offset || (low == offset && b < number) || low >= hole || top > check->capacity || check->equals[b] & rest)
			continue;
		memcpy(next->low, state->low, sizeof next->low);
		FOR_SET(c, check->meets[b] & rest)
			if (next->low[c] < top)
				next->low[c] = lowest_place(check, c, top);
		enum status status = place_rest(check, depth + 1, rest & ~(UINT64_C(1) << b), low, b);
		if (status != INFEASIBLE)
			return status;
	}
	return INFEASIBLE;
}

/* ---- setting up ---- */

/* The pieces of a buffer, or its whole life. */
static const struct piece *check_core_pieces_of(
	const struct buffers *buffers, uint32_t i, struct piece *whole, uint32_t *count)
{
	uint32_t first = buffers->piece_start ? buffers->piece_start[i] : 0;
	*count = buffers->piece_start ? buffers->piece_start[i + 1] - first : 0;
	*whole = (struct piece){ buffers->lower[i], buffers->upper[i] };
	if (*count > 0)
		return &buffers->piece[first];
	*count = 1;
	return whole;
}

static bool check_core_alive_at(const struct buffers *buffers, uint32_t i, int64_t step)
{
	struct piece whole;
	uint32_t count;
	const struct piece *piece = check_core_pieces_of(buffers, i, &whole, &count);
	FOR(k, count)
		if (piece[k].lower <= step && step < piece[k].upper)
			return true;
	return false;
}

static uint64_t alive_set(const struct buffers *buffers, const uint32_t *core, uint32_t count, int64_t step)
{
	uint64_t set = 0;
	FOR(i, count)
		if (buffers->size[core[i]] > 0 && check_core_alive_at(buffers, core[i], step))
			set |= UINT64_C(1) << i;
	return set;
}

static bool equal(
	const struct buffers *buffers, const struct core_check *check, uint32_t i, uint32_t a, uint32_t j, uint32_t b)
{
	return !buffers->piece_start && buffers->lower[a] == buffers->lower[b] && buffers->upper[a] == buffers->upper[b]
		&& check->size[i] == check->size[j] && check->alignment[i] == check->alignment[j] && (check->free >> j & 1);
}

static enum status check_core_set_up(
	struct core_check *check, const struct buffers *buffers, const uint32_t *core, int64_t alignment)
{
	uint32_t room = 0, count;
	struct piece whole;
	FOR(i, check->n) {
		uint32_t b = core[i];
		check_core_pieces_of(buffers, b, &whole, &count);
		room += count;
		check->size[i] = align_up(buffers->size[b], alignment);
		check->alignment[i] = buffers->alignment ? buffers->alignment[b] : 1;
		/* Offsets are multiples of both. */
		while (check->alignment[i] % alignment)
			check->alignment[i] += buffers->alignment ? buffers->alignment[b] : 1;
		check->fixed[i] = buffers->fixed && buffers->fixed[b] >= 0 ? buffers->fixed[b] : 0;
		check->free |= buffers->fixed && buffers->fixed[b] >= 0 ? 0 : UINT64_C(1) << i;
		FOR(j, i)
			if ((check->free >> i & 1) && equal(buffers, check, i, b, j, core[j]))
				check->equals[i] |= UINT64_C(1) << j;
	}
	MAKE(check->moment, room);
	NEED(check->moment);
	FOR(i, check->n) {
		const struct piece *piece = check_core_pieces_of(buffers, core[i], &whole, &count);
		FOR(k, count)
			check->moment[check->moments++] = alive_set(buffers, core, check->n, piece[k].lower);
	}
	FOR(m, check->moments)
		FOR_SET(b, check->moment[m])
			check->meets[b] |= check->moment[m] & ~(UINT64_C(1) << b);
	return OK;
}

/* Whether more is alive when one of the buffers starts than the capacity holds. */
static bool exceeds(
	const struct buffers *buffers, const uint32_t *core, uint32_t count, int64_t alignment, int64_t capacity)
{
	FOR(i, count) {
		int64_t sum = 0;
		FOR(j, count)
			if (check_core_alive_at(buffers, core[j], buffers->lower[core[i]]))
				sum += align_up(buffers->size[core[j]], alignment);
		if (sum > capacity)
			return true;
	}
	return false;
}

enum status layout_check_core(const struct buffers *buffers, const uint32_t *core, uint32_t count, int64_t alignment,
	int64_t capacity, uint64_t nodes)
{
	if (count > CORE_MOST)
		return exceeds(buffers, core, count, alignment, capacity) ? INFEASIBLE : LIMIT;
	struct core_check *MAKE(check, 1);
	NEED(check);
	check->n = count;
	check->capacity = capacity;
	check->nodes = nodes;
	enum status status = check_core_set_up(check, buffers, core, alignment);
	uint64_t rest = 0;
	FOR_WHILE(i, count, status == OK) {
		bool is_free = check->free >> i & 1;
		check->state[0].low[i] = is_free ? lowest_place(check, i, 0) : check->fixed[i];
		if (is_free && check->size[i] > 0)
			rest |= UINT64_C(1) << i;
		if (!is_free && check->fixed[i] + check->size[i] > capacity)
			status = INFEASIBLE;
	}
	THEN(status, place_rest(check, 0, rest, 0, 0));
	mem_free(check->moment);
	mem_free(check);
	return status;
}
