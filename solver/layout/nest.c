/* nest.c: see steps.h. */
#include "steps.h"

static uint32_t lower_of(uint32_t a, uint32_t b)
{
	return SMALLER(a, b);
}

/* The lowest node that holds sections first .. last, both included. */
static uint32_t nest_node_of(const struct nest *nest, uint32_t first, uint32_t last)
{
	uint32_t height = first == last ? 0 : 32 - (uint32_t)__builtin_clz(first ^ last);
	return (nest->leaves + first) >> height;
}

/* ---- building ---- */

static enum status nest_allocate(struct nest *nest)
{
	struct arena *arena = &nest->arena;
	uint32_t n = nest->model->n;
	nest->leaves = 1;
	while (nest->leaves < nest->model->sections)
		nest->leaves *= 2;
	return ROOMS(arena, n, nest->turn, nest->first, nest->last, nest->by_first, nest->by_last) &&
		ROOM(arena, nest->best, (size_t)nest->leaves * 2) && ROOM(arena, nest->start, (size_t)nest->leaves * 2 + 2) &&
		ROOMS(arena, (size_t)n * 2, nest->firsts, nest->lasts) ? OK : NO_MEMORY;
}

/* Sorts the ends into their nodes, ascending, by counting: first by end, then, keeping that order, by node. */
static enum status sort_ends(
	struct nest *nest, const uint32_t *end, const uint32_t *node, uint32_t *sorted, uint32_t *place)
{
	const struct layout_model *model = nest->model;
	HELD uint32_t *MAKE(count, (size_t)model->sections + 2);
	HELD uint32_t *MAKE(buffer, model->n);
	HELD uint32_t *MAKE(next, (size_t)nest->leaves * 2);
	NEED(count && buffer && next);
	FOR(b, model->n)
		count[end[b] + 1]++;
	for (uint32_t s = 1; s <= model->sections; s++)
		count[s] += count[s - 1];
	FOR(b, model->n)
		buffer[count[end[b]]++] = b;
	COPY(next, nest->start, (size_t)nest->leaves * 2);
	FOR(i, model->n) {
		uint32_t b = buffer[i];
		place[b] = next[node[b]]++;
		sorted[place[b]] = end[b];
	}
	return OK;
}

static void nest_match(struct nest_pair *pairs, uint32_t i)
{
	pairs[i].turn = lower_of(pairs[2 * i].turn, pairs[2 * i + 1].turn);
	pairs[i].end = lower_of(pairs[2 * i].end, pairs[2 * i + 1].end);
}

static void fill_tournaments(struct nest *nest, uint32_t v)
{
	uint32_t from = nest->start[v], m = nest->start[v + 1] - from;
	struct nest_pair *firsts = nest->firsts + (size_t)2 * from;
	struct nest_pair *lasts = nest->lasts + (size_t)2 * from;
	for (uint32_t i = m; i-- > 1;) {
		nest_match(firsts, i);
		nest_match(lasts, i);
	}
	nest->best[v] = m ? firsts[1].turn : NONE;
	if (v < nest->leaves)
		nest->best[v] = lower_of(nest->best[v], lower_of(nest->best[2 * v], nest->best[2 * v + 1]));
}

static void nest_fill(struct nest *nest, const uint32_t *node)
{
	const struct layout_model *model = nest->model;
	FOR(b, model->n) {
		size_t from = nest->start[node[b]], m = nest->start[node[b] + 1] - from;
		nest->firsts[from + m + nest->by_first[b]] = (struct nest_pair){ nest->turn[b], model->last[b] };
		nest->lasts[from + m + nest->by_last[b]] = (struct nest_pair){ nest->turn[b], ~model->first[b] };
	}
	for (uint32_t v = nest->leaves * 2; v-- > 1;)
		fill_tournaments(nest, v);
}

enum status nest_build(struct nest *nest, const struct layout_model *model, const uint32_t *order)
{
	*nest = (struct nest){ .model = model };
	HELD uint32_t *MAKE(node, model->n);
	TRY(node ? nest_allocate(nest) : NO_MEMORY);
	FOR(i, model->n)
		nest->turn[order[i]] = i;
	FOR(b, model->n) {
		node[b] = nest_node_of(nest, model->first[b], model->last[b] - 1);
		nest->start[node[b] + 1]++;
	}
	for (uint32_t v = 1; v <= nest->leaves * 2; v++)
		nest->start[v] += nest->start[v - 1];
	TRY(sort_ends(nest, model->first, node, nest->first, nest->by_first));
	TRY(sort_ends(nest, model->last, node, nest->last, nest->by_last));
	nest_fill(nest, node);
	return OK;
}

void nest_free(struct nest *nest)
{
	arena_free(&nest->arena);
}

/* ---- questions ---- */

/* The first of m ascending values that is >= value. */
static uint32_t nest_position(const uint32_t *values, uint32_t m, uint32_t value)
{
	uint32_t low = 0, high = m;
	BISECT(low, high, middle, values[middle] < value);
	return low;
}

/* Below a tournament's node: the lowest turn below `best` whose other end is at most `end`. */
static uint32_t nest_descend(const struct nest_pair *pairs, uint32_t m, uint32_t i, uint32_t end, uint32_t best)
{
	if (pairs[i].turn >= best || pairs[i].end > end)
		return best;
	if (i >= m)
		return pairs[i].turn;
	uint32_t near = 2 * i + (pairs[2 * i + 1].turn < pairs[2 * i].turn);
	best = nest_descend(pairs, m, near, end, best);
	return nest_descend(pairs, m, near ^ 1, end, best);
}

/* Of places [l, r) of a tournament, those whose other end is at most `end`. */
static uint32_t nest_best_of(
	const struct nest_pair *pairs, uint32_t m, uint32_t l, uint32_t r, uint32_t end, uint32_t best)
{
	if (m == 0 || pairs[1].turn >= best || pairs[1].end > end)
		return best;
	for (l += m, r += m; l < r; l /= 2, r /= 2) {
		if (l & 1)
			best = nest_descend(pairs, m, l++, end, best);
		if (r & 1)
			best = nest_descend(pairs, m, --r, end, best);
	}
	return best;
}

/* Of a node's buffers those that start in sections [from, to) and have ended at `last`. */
static uint32_t best_starting(
	const struct nest *nest, uint32_t v, uint32_t from, uint32_t to, uint32_t last, uint32_t best)
{
	uint32_t start = nest->start[v], m = nest->start[v + 1] - start;
	if (m == 0 || nest->firsts[(size_t)2 * start + 1].turn >= best)
		return best;
	uint32_t r = to == NONE ? m : nest_position(nest->first + start, m, to);
	return nest_best_of(nest->firsts + (size_t)2 * start, m, nest_position(nest->first + start, m, from), r, last, best);
}

/* Those that are over within sections (from, to] and start at `first` or later. */
static uint32_t best_ending(
	const struct nest *nest, uint32_t v, uint32_t from, uint32_t to, uint32_t first, uint32_t best)
{
	uint32_t start = nest->start[v], m = nest->start[v + 1] - start;
	if (m == 0 || nest->lasts[(size_t)2 * start + 1].turn >= best)
		return best;
	uint32_t l = from ? nest_position(nest->last + start, m, from + 1) : 0;
	return nest_best_of(nest->lasts + (size_t)2 * start, m, l, nest_position(nest->last + start, m, to + 1), ~first, best);
}

/* From the node's left child down to the leaf of `first`: what starts there or later and ends before the node's middle.
 */
static uint32_t best_left(const struct nest *nest, uint32_t v, uint32_t first, uint32_t best)
{
	uint32_t leaf = nest->leaves + first;
	FOR_DOWN(height, (uint32_t)(__builtin_clz(v) - __builtin_clz(leaf))) {
		v = leaf >> height;
		if (nest->best[v] >= best)
			return best;
		if (v << height == leaf)
			return nest->best[v];
		best = best_starting(nest, v, first, NONE, NONE - 1, best);
		if (height > 0 && !(leaf >> (height - 1) & 1))
			best = lower_of(best, nest->best[2 * v + 1]);
	}
	return best;
}

/* The same on the other side, up to the leaf of last - 1. */
static uint32_t best_right(const struct nest *nest, uint32_t v, uint32_t last, uint32_t best)
{
	uint32_t leaf = nest->leaves + last - 1;
	FOR_DOWN(height, (uint32_t)(__builtin_clz(v) - __builtin_clz(leaf))) {
		v = leaf >> height;
		if (nest->best[v] >= best)
			return best;
		if ((v + 1) << height == leaf + 1)
			return nest->best[v];
		best = best_ending(nest, v, 0, last, 0, best);
		if (height > 0 && (leaf >> (height - 1) & 1))
			best = lower_of(best, nest->best[2 * v]);
	}
	return best;
}

uint32_t nest_best(const struct nest *nest, uint32_t first, uint32_t last)
{
	uint32_t v = nest_node_of(nest, first, last - 1);
	if (nest->best[v] == NONE || v >= nest->leaves)
		return nest->best[v];
	uint32_t best = best_left(nest, v, first, NONE);
	best = best_right(nest, v, last, best);
	return best_starting(nest, v, first, NONE, last, best);
}

uint32_t nest_best_over(const struct nest *nest, uint32_t first, uint32_t last, uint32_t over)
{
	uint32_t leaf = nest->leaves + over, root = nest_node_of(nest, first, last - 1), best = NONE;
	FOR_DOWN(height, (uint32_t)(__builtin_clz(root) - __builtin_clz(leaf)) + 1) {
		uint32_t v = leaf >> height;
		if (nest->best[v] >= best)
			break;
		/* What belongs to the node crosses its middle: of its two ends one is on the far side anyway. */
		if (height == 0 || !(leaf >> (height - 1) & 1))
			best = best_starting(nest, v, first, over + 1, last, best);
		else
			best = best_ending(nest, v, over, last, first, best);
	}
	return best;
}

/* ---- removal ---- */

void nest_remove(struct nest *nest, uint32_t buffer)
{
	uint32_t v = nest_node_of(nest, nest->model->first[buffer], nest->model->last[buffer] - 1);
	uint32_t from = nest->start[v], m = nest->start[v + 1] - from;
	struct nest_pair *firsts = nest->firsts + (size_t)2 * from;
	struct nest_pair *lasts = nest->lasts + (size_t)2 * from;
	uint32_t i = m + nest->by_first[buffer] - from, k = m + nest->by_last[buffer] - from;
	firsts[i] = lasts[k] = (struct nest_pair){ NONE, NONE };
	for (i /= 2; i > 0; i /= 2)
		nest_match(firsts, i);
	for (k /= 2; k > 0; k /= 2)
		nest_match(lasts, k);
	for (; v > 0; v /= 2) {
		uint32_t best = nest->start[v + 1] > nest->start[v] ? nest->firsts[(size_t)2 * nest->start[v] + 1].turn : NONE;
		if (v < nest->leaves)
			best = lower_of(best, lower_of(nest->best[2 * v], nest->best[2 * v + 1]));
		if (nest->best[v] == best)
			break;
		nest->best[v] = best;
	}
}
