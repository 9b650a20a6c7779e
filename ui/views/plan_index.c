/* plan_index.c: sorted lists and curves of one plan. */
#include "view.h"

struct sortable { int64_t key; uint32_t id; };

COMPARATOR(by_key, struct sortable, COMPARE(a->key, b->key, COMPARE(a->id, b->id, 0)))

/* Items of the layout that are there, in ascending order of sign * of[item]. */
static uint32_t *sorted(struct plan_index *index, const int64_t *of, int sign)
{
	const struct plan *plan = index->plan;
	HELD struct sortable *MAKE(list, index->present);
	uint32_t *ids = NULL, n = 0;
	if (ROOM(&index->arena, ids, index->present) && list) {
		FOR(i, plan->laid_out->items)
			if (plan->laid_out->first[i] != NONE)
				list[n++] = (struct sortable){ sign * of[i], i };
		qsort(list, n, sizeof *list, by_key);
		FOR(i, n)
			ids[i] = list[i].id;
	}
	return list ? ids : NULL;
}

/* Differences at both ends of each life, then sums. */
static void sum_categories(struct plan_index *index)
{
	const struct plan *plan = index->plan;
	uint32_t ops = plan->graph->ops;
	int64_t *category = index->category;
	FOR(i, plan->laid_out->items) {
		if (plan->laid_out->first[i] == NONE)
			continue;
		int kind = item_kind(plan, i);
		category[(size_t)plan->laid_out->first[i] * CATEGORIES + kind] += plan->laid_out->bytes[i];
		if (plan->laid_out->last[i] + 1 < ops)
			category[(size_t)(plan->laid_out->last[i] + 1) * CATEGORIES + kind] -= plan->laid_out->bytes[i];
	}
	for (size_t i = CATEGORIES; i < (size_t)ops * CATEGORIES; i++)
		category[i] += category[i - CATEGORIES];
}

static void note_what_is_known(struct plan_index *index)
{
	const struct graph *graph = index->plan->graph;
	FOR(i, graph->ops) {
		index->modules |= *graph->op[i].module != '\0';
		index->sources |= graph->op[i].src != NULL;
	}
	FOR_WHILE(i, graph->tensors, !index->shapes)
		index->shapes = graph->tensor[i].shape != NULL;
}

enum status plan_index_build(const struct plan *plan, struct plan_index *index)
{
	*index = (struct plan_index){ .plan = plan };
	FOR(i, plan->laid_out->items)
		index->present += plan->laid_out->first[i] != NONE;
	ROOM(&index->arena, index->category, (size_t)plan->graph->ops * CATEGORIES);
	index->by_bytes = sorted(index, plan->laid_out->bytes, -1);
	index->by_offset = sorted(index, plan->laid_out->offset, 1);
	if (!index->category || !index->by_bytes || !index->by_offset) {
		plan_index_free(index);
		return NO_MEMORY;
	}
	sum_categories(index);
	note_what_is_known(index);
	return OK;
}

void plan_index_free(struct plan_index *index)
{
	arena_free(&index->arena);
	*index = (struct plan_index){ 0 };
}

static void add_hole(struct holes *holes, int64_t from, int64_t to)
{
	if (to <= from)
		return;
	holes->count++;
	holes->total += to - from;
	if (to - from > holes->largest) {
		holes->largest = to - from;
		holes->largest_offset = from;
	}
}

struct holes plan_holes(const struct plan_index *index, uint32_t position)
{
	const struct plan *plan = index->plan;
	struct holes holes = { 0 };
	int64_t end = 0;
	FOR(i, index->present) {
		uint32_t item = index->by_offset[i];
		if (!alive_at(plan, item, position))
			continue;
		add_hole(&holes, end, plan->laid_out->offset[item]);
		if (plan->laid_out->offset[item] + plan->laid_out->bytes[item] > end)
			end = plan->laid_out->offset[item] + plan->laid_out->bytes[item];
	}
	add_hole(&holes, end, plan_arena(plan));
	return holes;
}

struct neighbours plan_neighbours(const struct plan_index *index, uint32_t item, uint32_t position)
{
	const struct plan *plan = index->plan;
	struct neighbours next = { NONE, NONE, 0, 0 };
	int64_t low = plan->laid_out->offset[item], high = low + plan->laid_out->bytes[item], below = 0,
		above = plan_arena(plan);
	FOR(i, index->present) {
		uint32_t other = index->by_offset[i];
		if (other == item || !alive_at(plan, other, position))
			continue;
		int64_t end = plan->laid_out->offset[other] + plan->laid_out->bytes[other];
		if (end <= low && (next.below == NONE || end > below)) {
			next.below = other;
			below = end;
		}
		if (plan->laid_out->offset[other] >= high) {
			next.above = other;
			above = plan->laid_out->offset[other];
			break;
		}
	}
	next.hole_below = low - below;
	next.hole_above = above - high;
	return next;
}

uint32_t plan_highest(const struct plan *plan, uint32_t first, uint32_t last)
{
	uint32_t highest = first;
	for (uint32_t i = first + 1; i <= last && i < plan->graph->ops; i++)
		if (plan->ordered->live[i] > plan->ordered->live[highest])
			highest = i;
	return highest;
}

/* Nothing near is higher, and nothing near before it is as high. */
static bool is_local_peak(const struct plan *plan, uint32_t position, uint32_t reach)
{
	uint32_t ops = plan->graph->ops;
	uint32_t from = position > reach ? position - reach : 0, to = ops - 1 - position < reach ? ops - 1 : position + reach;
	for (uint32_t i = from; i <= to; i++)
		if (plan->ordered->live[i] > plan->ordered->live[position] ||
			(i < position && plan->ordered->live[i] == plan->ordered->live[position]))
			return false;
	return true;
}

uint32_t plan_local_peak(const struct plan *plan, uint32_t position, int direction)
{
	uint32_t ops = plan->graph->ops, reach = LARGER(ops / 100, 1);
	for (int64_t i = (int64_t)position + direction; i >= 0 && i < ops; i += direction) {
		bool candidate = (i == 0 || plan->ordered->live[i - 1] < plan->ordered->live[i]) &&
			(i + 1 == ops || plan->ordered->live[i + 1] <= plan->ordered->live[i]);
		if (candidate && is_local_peak(plan, (uint32_t)i, reach))
			return (uint32_t)i;
	}
	return position;
}
