/* shard_model.c: reduces a sharding problem: arc consistency, parallel and separable edges, maximal live sets.
 *
 * Repeated layers have equal cost tables: each distinct table is kept once, which lets most of them stay in the cache.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shard_model.h"

struct builder {
	struct shard_model *model;
	bool *alive;               /* the problem's strategy -> it has a partner over every edge */
	double *sum;               /* one group's costs */
	uint32_t *bucket;          /* hash -> 1 + an edge with such a table, 0: none */
	uint32_t buckets;
	struct arena arena;
};

static int by_ends(const void *left, const void *right)
{
	const struct shard_group *a = left, *b = right;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return (a->edge > b->edge) - (a->edge < b->edge);
}

static enum status find_groups(struct shard_model *model)
{
	const struct shard_problem *problem = model->problem;
	model->group = arena_alloc(&model->arena, problem->edges, sizeof *model->group);
	model->reduced = arena_alloc(&model->arena, problem->edges, sizeof *model->reduced);
	if (!model->group || !model->reduced)
		return NO_MEMORY;
	for (uint32_t edge = 0; edge < problem->edges; edge++) {
		uint32_t from = problem->from[edge], to = problem->to[edge];
		if (from != to)
			model->group[model->groups++] = (struct shard_group) { from < to ? from : to, from < to ? to : from, edge };
	}
	qsort(model->group, model->groups, sizeof *model->group, by_ends);
	return OK;
}

/* ---- arc consistency -------------------------------------------------------------------------------------- */

/* Kills strategies of from or to without a partner; an edge at a time, so parallel edges together forbid no less. */
static bool prune_edge(struct builder *builder, uint32_t edge)
{
	const struct shard_problem *problem = builder->model->problem;
	uint32_t from = problem->from[edge], to = problem->to[edge];
	uint32_t rows = shard_strategies(problem, from), columns = shard_strategies(problem, to);
	bool *row = builder->alive + problem->first[from], *column = builder->alive + problem->first[to], changed = false;
	const int64_t *pair = problem->pair + problem->table[edge];
	for (uint32_t p = 0; p < rows; p++) {
		uint32_t q = 0;
		while (row[p] && q < columns && (!column[q] || pair[(size_t)p * columns + q] >= SHARD_FORBIDDEN))
			q++;
		if (row[p] && q == columns)
			row[p] = false, changed = true;
	}
	for (uint32_t q = 0; q < columns; q++) {
		uint32_t p = 0;
		while (column[q] && p < rows && (!row[p] || pair[(size_t)p * columns + q] >= SHARD_FORBIDDEN))
			p++;
		if (column[q] && p == rows)
			column[q] = false, changed = true;
	}
	return changed;
}

static void prune(struct builder *builder)
{
	const struct shard_problem *problem = builder->model->problem;
	for (uint32_t i = 0; i < problem->first[problem->nodes]; i++)
		builder->alive[i] = problem->cost[i] < SHARD_FORBIDDEN;
	for (uint32_t edge = 0; edge < problem->edges; edge++) {
		uint32_t node = problem->from[edge], width = shard_strategies(problem, node);
		for (uint32_t p = 0; p < width && node == problem->to[edge]; p++)
			builder->alive[problem->first[node] + p] &=
				problem->pair[problem->table[edge] + (size_t)p * width + p] < SHARD_FORBIDDEN;
	}
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < builder->model->groups; i++)
			changed |= prune_edge(builder, builder->model->group[i].edge);
	}
}

/* ---- strategies --------------------------------------------------------------------------------------------- */

static enum status keep_strategies(struct builder *builder, struct error *error)
{
	struct shard_model *model = builder->model;
	const struct shard_problem *problem = model->problem;
	uint32_t strategies = problem->first[problem->nodes], kept = 0;
	model->first = arena_alloc(&model->arena, (size_t)problem->nodes + 1, sizeof *model->first);
	model->original = arena_alloc(&model->arena, strategies, sizeof *model->original);
	model->unary = arena_alloc(&model->arena, strategies, sizeof *model->unary);
	model->use = arena_alloc(&model->arena, strategies, sizeof *model->use);
	if (!model->first || !model->original || !model->unary || !model->use)
		return NO_MEMORY;
	for (uint32_t node = 0; node < problem->nodes; node++) {
		for (uint32_t i = problem->first[node]; i < problem->first[node + 1]; i++) {
			if (!builder->alive[i])
				continue;
			model->original[kept] = i - problem->first[node];
			model->unary[kept] = (double)problem->cost[i];
			model->use[kept++] = problem->begin[node] < problem->end[node] ? (double)problem->usage[i] : 0;
		}
		model->first[node + 1] = kept;
		if (kept == model->first[node])
			return fail(error, INFEASIBLE, "forbidden pairs leave node %u no strategy", node);
		if (kept - model->first[node] > model->widest)
			model->widest = kept - model->first[node];
	}
	for (uint32_t edge = 0; edge < problem->edges; edge++) {
		uint32_t node = problem->from[edge], width = shard_strategies(problem, node);
		for (uint32_t i = model->first[node]; i < model->first[node + 1] && node == problem->to[edge]; i++)
			model->unary[i] += (double)problem->pair[problem->table[edge] + (size_t)model->original[i] * (width + 1)];
	}
	return OK;
}

/* ---- slots -------------------------------------------------------------------------------------------------- */

static int by_value(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

static uint32_t first_not_below(const int64_t *moment, uint32_t count, int64_t time)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (moment[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A live set is maximal at a beginning when an end comes before the next beginning. Both arrays are sorted. */
static void find_slots(struct shard_model *model, const int64_t *begins, const int64_t *ends, uint32_t count)
{
	for (uint32_t begin = 0, end = 0; begin < count; begin++) {
		while (ends[end] <= begins[begin])
			end++;
		if (begin + 1 == count || ends[end] <= begins[begin + 1])
			model->moment[model->slots++] = begins[begin];
	}
}

static enum status build_slots(struct builder *builder)
{
	struct shard_model *model = builder->model;
	const struct shard_problem *problem = model->problem;
	int64_t *begins = arena_alloc(&builder->arena, problem->nodes, sizeof *begins);
	int64_t *ends = arena_alloc(&builder->arena, problem->nodes, sizeof *ends);
	model->begin = arena_alloc(&model->arena, problem->nodes, sizeof *model->begin);
	model->end = arena_alloc(&model->arena, problem->nodes, sizeof *model->end);
	model->moment = arena_alloc(&model->arena, problem->nodes, sizeof *model->moment);
	if (!begins || !ends || !model->begin || !model->end || !model->moment)
		return NO_MEMORY;
	uint32_t count = 0;
	for (uint32_t node = 0; node < problem->nodes && problem->limit >= 0; node++)
		if (problem->begin[node] < problem->end[node]) {
			begins[count] = problem->begin[node];
			ends[count++] = problem->end[node];
		}
	qsort(begins, count, sizeof *begins, by_value);
	qsort(ends, count, sizeof *ends, by_value);
	find_slots(model, begins, ends, count);
	for (uint32_t node = 0; node < problem->nodes; node++) {
		model->begin[node] = first_not_below(model->moment, model->slots, problem->begin[node]);
		model->end[node] = first_not_below(model->moment, model->slots, problem->end[node]);
		if (model->end[node] < model->begin[node])
			model->end[node] = model->begin[node];
	}
	return OK;
}

/* ---- edges -------------------------------------------------------------------------------------------------- */

uint32_t shard_model_sum(const struct shard_model *model, uint32_t i, double *sum)
{
	const struct shard_problem *problem = model->problem;
	uint32_t tail = model->group[i].low, head = model->group[i].high;
	uint32_t rows = shard_width(model, tail), columns = shard_width(model, head);
	const uint32_t *row = model->original + model->first[tail], *column = model->original + model->first[head];
	memset(sum, 0, (size_t)rows * columns * sizeof *sum);
	for (; i < model->groups && model->group[i].low == tail && model->group[i].high == head; i++) {
		uint32_t edge = model->group[i].edge, width = shard_strategies(problem, problem->to[edge]);
		const int64_t *pair = problem->pair + problem->table[edge];
		bool along = problem->from[edge] == tail;
		for (uint32_t p = 0; p < rows; p++)
			for (uint32_t q = 0; q < columns; q++) {
				int64_t cost = pair[along ? (size_t)row[p] * width + column[q] : (size_t)column[q] * width + row[p]];
				sum[(size_t)p * columns + q] += cost >= SHARD_FORBIDDEN ? model->penalty : (double)cost;
			}
	}
	return i;
}

/* Is every cost the sum of one that depends on the row and one that depends on the column? */
static bool separable(const double *sum, uint32_t rows, uint32_t columns)
{
	for (uint32_t p = 1; p < rows; p++)
		for (uint32_t q = 1; q < columns; q++)
			if (sum[(size_t)p * columns + q] - sum[q] != sum[(size_t)p * columns] - sum[0])
				return false;
	return true;
}

static void fold(struct shard_model *model, const struct shard_group *group, const double *sum)
{
	uint32_t rows = shard_width(model, group->low), columns = shard_width(model, group->high);
	for (uint32_t p = 0; p < rows; p++)
		model->unary[model->first[group->low] + p] += sum[(size_t)p * columns];
	for (uint32_t q = 0; q < columns; q++)
		model->unary[model->first[group->high] + q] += sum[q] - sum[0];
}

/* Finds a table equal to sum, or adds it, and its transpose behind it. */
static enum status place_table(struct builder *builder, uint32_t edge, uint32_t rows, uint32_t columns)
{
	struct shard_model *model = builder->model;
	size_t size = (size_t)rows * columns;
	uint64_t hash = hash_join(rows, columns);
	for (size_t i = 0; i < size; i++) {
		uint64_t bits;
		memcpy(&bits, &builder->sum[i], sizeof bits);
		hash = hash_join(hash, bits);
	}
	uint32_t at = (uint32_t)(hash % builder->buckets);
	for (; builder->bucket[at]; at = (at + 1) % builder->buckets) {
		uint32_t like = builder->bucket[at] - 1;
		if (shard_width(model, model->tail[like]) != rows || shard_width(model, model->head[like]) != columns
		    || memcmp(model->pair + model->table[like], builder->sum, size * sizeof *model->pair))
			continue;
		model->table[edge] = model->table[like];
		return OK;
	}
	builder->bucket[at] = edge + 1;
	if (model->pair_count + 2 * size > model->pair_room) {
		size_t room = 2 * model->pair_room + 2 * size;
		double *moved = mem_resize(model->pair, room, sizeof *moved);
		if (!moved)
			return NO_MEMORY;
		model->pair = moved;
		model->pair_room = room;
	}
	double *pair = model->pair + model->pair_count;
	memcpy(pair, builder->sum, size * sizeof *pair);
	for (uint32_t p = 0; p < rows; p++)
		for (uint32_t q = 0; q < columns; q++)
			pair[size + (size_t)q * rows + p] = pair[(size_t)p * columns + q];
	model->table[edge] = model->pair_count;
	model->pair_count += 2 * size;
	return OK;
}

/* The largest magnitude of allowed costs. */
static double dearest(const int64_t *cost, size_t count)
{
	double most = 0;
	for (size_t i = 0; i < count; i++)
		if (cost[i] < SHARD_FORBIDDEN)
			most = fmax(most, fabs((double)cost[i]));
	return most;
}

static enum status prepare_edges(struct builder *builder)
{
	struct shard_model *model = builder->model;
	const struct shard_problem *problem = model->problem;
	size_t largest = 1;
	double sum = 1;
	for (uint32_t node = 0; node < problem->nodes; node++)
		sum += dearest(problem->cost + problem->first[node], shard_strategies(problem, node));
	for (uint32_t edge = 0; edge < problem->edges; edge++)
		sum += dearest(problem->pair + problem->table[edge], problem->table[edge + 1] - problem->table[edge]);
	/* Dearer than any choice without a forbidden pair, and no more, to leave digits to what stands beside it. */
	model->penalty = 2 * sum;
	for (uint32_t i = 0; i < model->groups; i++) {
		size_t size = (size_t)shard_width(model, model->group[i].low) * shard_width(model, model->group[i].high);
		largest = size > largest ? size : largest;
	}
	builder->buckets = 2 * model->groups + 1;
	builder->bucket = arena_alloc(&builder->arena, builder->buckets, sizeof *builder->bucket);
	builder->sum = arena_alloc(&builder->arena, largest, sizeof *builder->sum);
	model->tail = arena_alloc(&model->arena, model->groups, sizeof *model->tail);
	model->head = arena_alloc(&model->arena, model->groups, sizeof *model->head);
	model->source = arena_alloc(&model->arena, model->groups, sizeof *model->source);
	model->table = arena_alloc(&model->arena, model->groups, sizeof *model->table);
	return builder->bucket && builder->sum && model->tail && model->head && model->source && model->table ? OK : NO_MEMORY;
}

static enum status build_edges(struct builder *builder)
{
	struct shard_model *model = builder->model;
	enum status status = prepare_edges(builder);
	for (uint32_t i = 0; i < model->groups; i++)
		model->reduced[i] = NONE;
	for (uint32_t i = 0, next; i < model->groups && status == OK; i = next) {
		const struct shard_group *group = &model->group[i];
		uint32_t rows = shard_width(model, group->low), columns = shard_width(model, group->high);
		next = shard_model_sum(model, i, builder->sum);
		if (separable(builder->sum, rows, columns)) {
			fold(model, group, builder->sum);
			continue;
		}
		model->tail[model->edges] = group->low;
		model->head[model->edges] = group->high;
		model->source[model->edges] = group->edge;
		model->reduced[i] = model->edges;
		status = place_table(builder, model->edges, rows, columns);
		model->edges++;
	}
	return status;
}

/* Rows of incident edges, and a place for the message over every one of them, a node's next to each other. */
static enum status build_incidence(struct builder *builder)
{
	struct shard_model *model = builder->model;
	uint32_t *row = arena_alloc(&builder->arena, 2 * (size_t)model->edges, sizeof *row);
	uint32_t *item = arena_alloc(&builder->arena, 2 * (size_t)model->edges, sizeof *item);
	model->into_tail = arena_alloc(&model->arena, model->edges, sizeof *model->into_tail);
	model->into_head = arena_alloc(&model->arena, model->edges, sizeof *model->into_head);
	if (!row || !item || !model->into_tail || !model->into_head)
		return NO_MEMORY;
	for (uint32_t edge = 0; edge < model->edges; edge++) {
		row[2 * edge] = model->tail[edge];
		row[2 * edge + 1] = model->head[edge];
		item[2 * edge] = item[2 * edge + 1] = edge;
	}
	enum status status = csr_of_pairs(&model->arena, model->nodes, 2 * model->edges, row, item, &model->incident);
	for (uint32_t node = 0; node < model->nodes && status == OK; node++)
		FOR_ROW(i, &model->incident, node) {
			uint32_t edge = model->incident.item[i];
			*(model->head[edge] == node ? &model->into_head[edge] : &model->into_tail[edge]) = model->messages;
			model->messages += shard_width(model, node);
		}
	return status;
}

enum status shard_model_build(struct shard_model *model, const struct shard_problem *problem, struct error *error)
{
	struct builder builder = { .model = model };
	*model = (struct shard_model) { .problem = problem, .nodes = problem->nodes, .limit = (double)problem->limit };
	builder.alive = arena_alloc(&builder.arena, problem->first[problem->nodes], sizeof *builder.alive);
	enum status status = builder.alive ? find_groups(model) : NO_MEMORY;
	if (status == OK) {
		prune(&builder);
		status = keep_strategies(&builder, error);
	}
	if (status == OK)
		status = build_slots(&builder);
	if (status == OK)
		status = build_edges(&builder);
	if (status == OK)
		status = build_incidence(&builder);
	arena_free(&builder.arena);
	return status == NO_MEMORY ? fail(error, NO_MEMORY, "out of memory") : status;
}

void shard_model_free(struct shard_model *model)
{
	arena_free(&model->arena);
	mem_free(model->pair);
	*model = (struct shard_model) { 0 };
}
