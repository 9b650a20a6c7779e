/* front.c: elimination with sets of points, pruned by what is around them. */
#include <stdlib.h>
#include <string.h>

#include "search.h"

/* Links and children that usage depends on. */
static bool has_points(const struct chain_front *front, const struct chain_part *part)
{
	const struct chain_tree *tree = front->tree;
	return part->child != NONE ? !tree->bucket[part->child].plain : tree->graph->factor[part->factor].weight != NULL;
}

/* ---- room ---- */

static bool front_push(struct chain_point **list, size_t *room, uint32_t count, struct chain_point point)
{
	if (!mem_reserve(list, room, count + 1, sizeof point))
		return false;
	(*list)[count] = point;
	return true;
}

static uint32_t push_trail(struct chain_front *front, uint32_t before, uint32_t point)
{
	if (!mem_reserve(&front->trail, &front->trail_room, front->trails + 1, sizeof *front->trail))
		return NONE;
	front->trail[front->trails] = (struct chain_trail) { before, point };
	return front->trails++;
}

/* ---- sets ---- */

int chain_points_by_usage(const void *left, const void *right)
{
	const struct chain_point *a = left, *b = right;
	if (a->usage != b->usage)
		return a->usage < b->usage ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (a->trail > b->trail) - (a->trail < b->trail);
}

#define BINS 1024 /* at most; of short lists a bin for every four points */
#define SHORT 256 /* points that are sorted as they are */

static bool is_cheaper(const struct chain_point *a, const struct chain_point *b)
{
	return a->cost != b->cost ? a->cost < b->cost : chain_points_by_usage(a, b) < 0;
}

/* Bins of usage from the least up to that of the cheapest point: above it nothing is worth keeping. */
struct bins {
	int64_t low, high;
	uint32_t count, shift, best[BINS]; /* the cheapest point in each, or NONE */
};

static uint64_t bin_of(const struct bins *bins, const struct chain_point *point)
{
	return ((uint64_t)point->usage - (uint64_t)bins->low) >> bins->shift;
}

static void find_bins(const struct chain_point *list, uint32_t count, struct bins *bins)
{
	const struct chain_point *cheapest = list;
	bins->low = list->usage;
	bins->count = count / 4 < BINS ? count / 4 : BINS;
	bins->shift = 0;
	for (uint32_t i = 1; i < count; i++) {
		bins->low = list[i].usage < bins->low ? list[i].usage : bins->low;
		cheapest = is_cheaper(&list[i], cheapest) ? &list[i] : cheapest;
	}
	bins->high = cheapest->usage;
	while (bin_of(bins, cheapest) >= bins->count)
		bins->shift++;
	memset(bins->best, -1, bins->count * sizeof *bins->best);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *best = list[i].usage <= bins->high ? &bins->best[bin_of(bins, &list[i])] : NULL;
		if (best && (*best == NONE || is_cheaper(&list[i], &list[*best])))
			*best = i;
	}
}

/* Drops points that the cheapest of their bin or of a lower one is as good as, before the rest is sorted: nearly all
 * are such, as sums of two fronts have many equals. Linear. */
static uint32_t sift(struct chain_point *list, uint32_t count)
{
	struct bins bins;
	int64_t usage[BINS], lower[BINS],
		least = INT64_MAX; /* usage of each bin's cheapest point, and the least cost in lower bins */
	uint32_t kept = 0;
	find_bins(list, count, &bins);
	for (uint32_t b = 0; b < bins.count; b++) {
		const struct chain_point *best = bins.best[b] == NONE ? NULL : &list[bins.best[b]];
		lower[b] = least;
		usage[b] = best ? best->usage : INT64_MAX;
		least = best && best->cost < least ? best->cost : least;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint64_t b = bin_of(&bins, &list[i]);
		if (list[i].usage <= bins.high && list[i].cost < lower[b] && (i == bins.best[b] || list[i].usage < usage[b]))
			list[kept++] = list[i];
	}
	return kept;
}

uint32_t chain_points_filter(struct chain_point *list, uint32_t count)
{
	uint32_t kept = 0;
	if (count < 2)
		return count;
	if (count > SHORT)
		count = sift(list, count);
	qsort(list, count, sizeof *list, chain_points_by_usage);
	for (uint32_t i = 0; i < count; i++)
		if (!kept || list[i].cost < list[kept - 1].cost)
			list[kept++] = list[i];
	return kept;
}

static int64_t front_weight_of(const struct chain_tree *tree, const struct chain_point *point)
{
	return tree->alpha * point->cost + tree->beta * point->usage;
}

struct row {
	struct chain_front *front;
	const struct chain_bucket *bucket;
	const uint32_t *value; /* of the scope */
	int64_t room;          /* the most that a point may weigh */
	uint32_t count;        /* in front->list */
};

/* Cost and usage of factors and plain children. False where forbidden. */
static bool add_plain(const struct row *row, struct chain_point *point)
{
	const struct chain_tree *tree = row->front->tree;
	for (uint32_t i = 0; i < row->bucket->parts; i++) {
		const struct chain_part *part = &row->bucket->part[i];
		if (has_points(row->front, part))
			continue;
		size_t entry = chain_part_entry(row->bucket, part, row->value);
		const struct chain_factor *factor = part->child == NONE ? &tree->graph->factor[part->factor] : NULL;
		int64_t cost = factor ? factor->cost[entry] : tree->bucket[part->child].up[entry];
		if (chain_blocked(cost))
			return false;
		point->cost += cost;
		point->usage += factor && factor->usage ? factor->usage[entry] : 0;
	}
	return true;
}

/* Every point of front->list with every point of the child; rest: the least that other children will add. */
static enum status front_join(struct row *row, const struct chain_part *part, int64_t rest)
{
	struct chain_front *front = row->front;
	const struct chain_given *given = part->child == NONE ? &front->given[part->factor] : NULL;
	const uint32_t *start = given ? given->start : front->start[part->child];
	size_t entry = chain_part_entry(row->bucket, part, row->value);
	uint32_t count = 0;
	for (uint32_t i = 0; i < row->count; i++)
		for (uint32_t j = start[entry]; j < start[entry + 1]; j++) {
			struct chain_point point = front->list[i];
			const struct chain_point *more = given ? &given->point[j] : &front->point[j];
			point.cost += more->cost;
			point.usage += more->usage;
			if (front_weight_of(front->tree, &point) + rest > row->room)
				continue;
			if (front->trails > 4 * front->room.most || count > front->room.most)
				return LIMIT;
			point.trail = push_trail(front, front->list[i].trail, j);
			if (point.trail == NONE || !front_push(&front->other, &front->other_room, count++, point))
				return NO_MEMORY;
		}
	struct chain_point *swap = front->list;
	size_t room = front->list_room;
	front->list = front->other;
	front->list_room = front->other_room;
	front->other = swap;
	front->other_room = room;
	row->count = chain_points_filter(front->list, count);
	return OK;
}

/* The points of one assignment of the whole scope, into front->list. */
static enum status front_combine(struct row *row)
{
	struct chain_front *front = row->front;
	const struct chain_tree *tree = front->tree;
	struct chain_point point = { .value = row->bucket->var == NONE ? 0 : row->value[row->bucket->var], .trail = NONE };
	int64_t rest = 0;
	row->count = 0;
	if (!add_plain(row, &point))
		return OK;
	for (uint32_t i = 0; i < row->bucket->parts; i++)
		if (has_points(front, &row->bucket->part[i])) {
			int64_t least = chain_part_weight(tree, row->bucket, &row->bucket->part[i], row->value);
			if (chain_blocked(least))
				return OK;
			rest += least;
		}
	if (front_weight_of(tree, &point) + rest > row->room)
		return OK;
	NEED(front_push(&front->list, &front->list_room, row->count++, point));
	enum status status = OK;
	for (uint32_t i = 0; i < row->bucket->parts && row->count && status == OK; i++) {
		const struct chain_part *part = &row->bucket->part[i];
		if (!has_points(front, part))
			continue;
		rest -= chain_part_weight(tree, row->bucket, part, row->value);
		status = front_join(row, part, rest);
	}
	return status;
}

/* ---- buckets ---- */

/* Moves the points at hand behind those of the row that are there already, and leaves the best of both. */
static enum status front_keep(struct row *row, uint32_t begin)
{
	struct chain_front *front = row->front;
	for (uint32_t i = 0; i < row->count; i++) {
		if (front->points >= front->room.most)
			return LIMIT;
		NEED(front_push(&front->point, &front->point_room, front->points, front->list[i]));
		front->points++;
	}
	if (front->points > begin)
		front->points = begin + chain_points_filter(front->point + begin, front->points - begin);
	return OK;
}

static enum status front_fill_row(struct row *row, int64_t around, int64_t limit, uint32_t *value)
{
	const struct chain_bucket *bucket = row->bucket;
	uint32_t begin = row->front->points, domain = bucket->var == NONE ? 1 : row->front->tree->graph->domain[bucket->var];
	enum status status = OK;
	row->room = limit - around;
	for (uint32_t i = 0; i < domain && status == OK; i++) {
		if (bucket->var != NONE)
			value[bucket->var] = i;
		status = front_combine(row);
		if (status == OK)
			status = front_keep(row, begin);
	}
	return status;
}

static enum status fill_bucket(
	struct chain_front *front, uint32_t number, int64_t limit, uint32_t *value, struct control *control)
{
	const struct chain_tree *tree = front->tree;
	const struct chain_bucket *bucket = &tree->bucket[number];
	struct row at = { .front = front, .bucket = bucket, .value = value };
	size_t rows = bucket->rows;
	enum status status = OK;
	front->start[number] = arena_alloc(&front->arena, rows + 1, sizeof **front->start);
	NEED(front->start[number]);
	for (size_t row = 0; row < rows && status == OK; row++) {
		front->start[number][row] = front->points;
		if (chain_blocked(bucket->up[row]) || chain_blocked(bucket->down[row]) || bucket->up[row] + bucket->down[row] > limit)
			continue;
		chain_tree_digits(tree, bucket, row, value);
		status = front_fill_row(&at, bucket->down[row], limit, value);
		if (control_spend(control, 20))
			status = status == OK ? control_status(control) : status;
	}
	front->start[number][rows] = front->points;
	return status;
}

enum status chain_front_build(struct chain_front *front, struct chain_tree *tree, const struct chain_given *given,
	int64_t limit, struct chain_room room, struct control *control)
{
	*front = (struct chain_front) { .tree = tree, .given = given, .room = room };
	front->start = arena_alloc(&front->arena, tree->buckets, sizeof *front->start);
	uint32_t *value = arena_alloc(&front->arena, tree->graph->vars, sizeof *value);
	enum status status = front->start && value ? OK : NO_MEMORY;
	for (uint32_t i = 0; i < tree->buckets && status == OK; i++)
		if (!tree->bucket[i].plain)
			status = fill_bucket(front, i, limit, value, control);
	return status;
}

void chain_front_free(struct chain_front *front)
{
	mem_free(front->point);
	mem_free(front->trail);
	mem_free(front->list);
	mem_free(front->other);
	arena_free(&front->arena);
	*front = (struct chain_front) { 0 };
}

void chain_front_decode(
	const struct chain_front *front, uint32_t number, uint32_t point, uint32_t *value, uint32_t *taken)
{
	const struct chain_tree *tree = front->tree;
	const struct chain_bucket *bucket = &tree->bucket[number];
	if (bucket->var != NONE)
		value[bucket->var] = front->point[point].value;
	for (uint32_t i = 0; i < bucket->parts; i++)
		if (bucket->part[i].child != NONE && tree->bucket[bucket->part[i].child].plain)
			chain_tree_decode_below(tree, bucket->part[i].child, value);
	/* The trail has the parts with points, the last one first. */
	uint32_t trail = front->point[point].trail;
	for (uint32_t i = bucket->parts; i-- > 0;)
		if (has_points(front, &bucket->part[i])) {
			if (bucket->part[i].child == NONE)
				taken[bucket->part[i].factor] = front->trail[trail].point;
			else
				chain_front_decode(front, bucket->part[i].child, front->trail[trail].point, value, taken);
			trail = front->trail[trail].before;
		}
}
