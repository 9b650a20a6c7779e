/* model.c: reduces a sharding problem: arc consistency, followers, parallel and separable edges, maximal live sets.
 *
 * Repeated layers have equal cost tables: each distinct table is kept once, which lets most of them stay in the cache.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct builder {
	struct shard_model *model;
	bool *alive; /* the problem's strategy -> it has a partner over every edge */
	struct shard_merge merge;
	double *sum;      /* one bundle's costs */
	uint32_t *bucket; /* hash -> 1 + an edge with such a table, 0: none */
	uint32_t buckets;
	struct arena arena;
};

COMPARATOR(problems_model_by_ends, struct shard_group, COMPARE(a->low, b->low, COMPARE(a->high, b->high,
	COMPARE(a->edge, b->edge, 0))))

static enum status problems_model_find_groups(struct shard_model *model)
{
	const struct shard_problem *problem = model->problem;
	NEED(ROOMS(&model->arena, problem->edges, model->group, model->reduced, model->bundle));
	FOR(edge, problem->edges) {
		uint32_t from = problem->from[edge], to = problem->to[edge];
		if (from != to)
			model->group[model->groups++] = (struct shard_group) { from < to ? from : to, LARGER(to, from), edge };
	}
	SORT(model->group, model->groups, problems_model_by_ends);
	return OK;
}

/* ---- arc consistency ---- */

/* Kills strategies without a partner over the run of parallel edges that begins at i. */
static bool prune_group(struct builder *builder, uint32_t i)
{
	const struct shard_problem *problem = builder->model->problem;
	bool changed = false;
	FOR_INT(side, 2) {
		uint32_t node = side == 0 ? builder->model->group[i].low : builder->model->group[i].high;
		uint32_t other = side == 0 ? builder->model->group[i].high : builder->model->group[i].low;
		FOR(p, shard_strategies(problem, node)) {
			uint32_t q = 0, others = shard_strategies(problem, other);
			bool *alive = &builder->alive[problem->first[node] + p];
			while (*alive && q < others &&
				(!builder->alive[problem->first[other] + q] ||
					!shard_group_allows(problem, builder->model->group, builder->model->groups, i, side == 0 ? p : q,
						side == 0 ? q : p)))
				q++;
			if (*alive && q == others) {
				*alive = false;
				changed = true;
			}
		}
	}
	return changed;
}

static void problems_model_prune(struct builder *builder)
{
	const struct shard_problem *problem = builder->model->problem;
	FOR(edge, problem->edges) {
		uint32_t node = problem->from[edge], width = shard_strategies(problem, node);
		FOR_WHILE(p, width, node == problem->to[edge])
			builder->alive[problem->first[node] + p] &=
				problem->pair[problem->table[edge] + (size_t)p * width + p] < SHARD_FORBIDDEN;
	}
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < builder->model->groups;
			i = shard_group_end(builder->model->group, builder->model->groups, i))
			changed |= prune_group(builder, i);
	}
}

/* Prunes and merges until nothing changes. */
static enum status problems_model_settle(struct builder *builder)
{
	struct shard_model *model = builder->model;
	const struct shard_problem *problem = model->problem;
	FOR(i, problem->first[problem->nodes])
		builder->alive[i] = problem->cost[i] < SHARD_FORBIDDEN;
	for (bool again = true; again;) {
		problems_model_prune(builder);
		TRY(shard_merge_find(problem, model->group, model->groups, builder->alive, &builder->arena, &builder->merge, &again));
	}
	return OK;
}

/* ---- strategies ---- */

static enum status place_members(struct builder *builder, struct error *error)
{
	struct shard_model *model = builder->model;
	const struct shard_problem *problem = model->problem;
	const struct shard_merge *merge = &builder->merge;
	uint32_t bases = 0;
	FOR(i, problem->nodes) {
		uint32_t node = merge->order[i], cluster = merge->cluster[node], width = 0;
		FOR_SPAN(s, problem->first, node) {
			if (!builder->alive[s])
				continue;
			model->original[bases + merge->member[s]] = s - problem->first[node];
			width++;
		}
		if (width == 0)
			return fail(error, INFEASIBLE, "forbidden pairs leave node %u no strategy", node);
		model->member[i] = (struct shard_member) { .node = node, .base = bases };
		model->member_of[node] = i;
		model->node_of[node] = cluster;
		model->member_start[cluster + 1] = i + 1;
		model->first[cluster + 1] = model->first[cluster] + width;
		model->widest = LARGER(width, model->widest);
		bases += width;
	}
	return OK;
}

/* Costs of members, and of the edges between them. */
static void sum_unary(struct shard_model *model)
{
	const struct shard_problem *problem = model->problem;
	FOR(node, problem->nodes) {
		double *unary = model->unary + model->first[model->node_of[node]];
		FOR(p, shard_width(model, model->node_of[node]))
			unary[p] += (double)problem->cost[problem->first[node] + shard_original(model, node, p)];
	}
	FOR(edge, problem->edges) {
		uint32_t from = problem->from[edge], to = problem->to[edge], node = model->node_of[from];
		FOR_WHILE(p, shard_width(model, node), node == model->node_of[to])
			model->unary[model->first[node] + p] += (double)problem->pair[problem->table[edge]
				+ (size_t)shard_original(model, from, p) * shard_strategies(problem, to) + shard_original(model, to, p)];
	}
}

static enum status problems_model_keep_strategies(struct builder *builder, struct error *error)
{
	struct shard_model *model = builder->model;
	const struct shard_problem *problem = model->problem;
	uint32_t strategies = problem->first[problem->nodes];
	struct arena *arena = &model->arena;
	model->nodes = builder->merge.clusters;
	NEED(ROOMS(arena, (size_t)model->nodes + 1, model->first, model->member_start) &&
		ROOMS(arena, problem->nodes, model->member, model->member_of, model->node_of) &&
		ROOMS(arena, strategies, model->original, model->unary));
	TRY(place_members(builder, error));
	sum_unary(model);
	return OK;
}

/* ---- slots ---- */

static uint32_t first_not_below(const int64_t *moment, uint32_t count, int64_t time)
{
	uint32_t low = 0, high = count;
	BISECT(low, high, middle, moment[middle] < time);
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

struct event { uint32_t slot, member; int sign; };

COMPARATOR(by_slot, struct event, COMPARE(a->slot, b->slot, 0))

/* Where members of a node that use memory begin and end to live. */
static uint32_t list_events(const struct shard_model *model, uint32_t node, struct event *event)
{
	const struct shard_problem *problem = model->problem;
	uint32_t count = 0;
	FOR_MEMBERS(member, model, node) {
		uint32_t of = member->node, begin = first_not_below(model->moment, model->slots, problem->begin[of]);
		uint32_t end = first_not_below(model->moment, model->slots, problem->end[of]),
				 index = (uint32_t)(member - model->member);
		bool uses = false;
		FOR_SPAN(i, problem->first, of)
			uses |= problem->usage[i] != 0;
		if (!uses || begin >= end || problem->begin[of] >= problem->end[of])
			continue;
		event[count++] = (struct event) { begin, index, 1 };
		event[count++] = (struct event) { end, index, -1 };
	}
	SORT(event, count, by_slot);
	return count;
}

/* Cuts the node's life at every event; pieces are appended at *pieces, their bytes at *bases. */
static void cut_pieces(struct shard_model *model, uint32_t node, const struct event *event, uint32_t events,
	double *live, uint32_t *pieces, uint32_t *bases)
{
	const struct shard_problem *problem = model->problem;
	uint32_t width = shard_width(model, node);
	CLEAR(live, width);
	for (uint32_t i = 0; i < events;) {
		uint32_t slot = event[i].slot;
		for (; i < events && event[i].slot == slot; i++) {
			const struct shard_member *member = &model->member[event[i].member];
			FOR(p, width)
				live[p] += event[i].sign * (double)problem->usage[problem->first[member->node] + model->original[member->base + p]];
		}
		bool any = false;
		FOR(p, width)
			any |= live[p] != 0;
		if (i == events || !any)
			continue;
		model->piece[(*pieces)++] = (struct shard_piece) { slot, event[i].slot, *bases };
		FOR(p, width) {
			model->use[*bases + p] = live[p];
			model->weight[model->first[node] + p] += live[p] * (event[i].slot - slot);
		}
		*bases += width;
	}
}

static enum status build_pieces(struct builder *builder)
{
	struct shard_model *model = builder->model;
	const struct shard_problem *problem = model->problem;
	size_t nodes = problem->nodes, strategies = problem->first[problem->nodes];
	struct event *MAKE_IN(&builder->arena, event, 2 * nodes);
	double *MAKE_IN(&builder->arena, live, model->widest);
	uint32_t pieces = 0, bases = 0;
	NEED(ROOM(&model->arena, model->piece_start, (size_t)model->nodes + 1) &&
		ROOM(&model->arena, model->piece, 2 * nodes) && ROOM(&model->arena, model->use, 2 * strategies) &&
		ROOM(&model->arena, model->weight, strategies) && event && live);
	FOR(node, model->nodes) {
		cut_pieces(model, node, event, list_events(model, node, event), live, &pieces, &bases);
		model->piece_start[node + 1] = pieces;
		if (pieces - model->piece_start[node] > model->most_pieces)
			model->most_pieces = pieces - model->piece_start[node];
	}
	return OK;
}

static enum status build_slots(struct builder *builder)
{
	struct shard_model *model = builder->model;
	const struct shard_problem *problem = model->problem;
	int64_t *begins, *ends;
	NEED(ROOMS(&builder->arena, problem->nodes, begins, ends) && ROOM(&model->arena, model->moment, problem->nodes));
	uint32_t count = 0;
	FOR_WHILE(node, problem->nodes, problem->limit >= 0)
		if (problem->begin[node] < problem->end[node]) {
			begins[count] = problem->begin[node];
			ends[count++] = problem->end[node];
		}
	SORT(begins, count, compare_int64);
	SORT(ends, count, compare_int64);
	find_slots(model, begins, ends, count);
	return build_pieces(builder);
}

/* ---- edges ---- */

void shard_bundle_ends(const struct shard_model *model, uint32_t i, uint32_t *low, uint32_t *high)
{
	const struct shard_group *group = &model->group[model->bundle[i]];
	uint32_t a = model->node_of[group->low], b = model->node_of[group->high];
	*low = a < b ? a : b;
	*high = a < b ? b : a;
}

uint32_t shard_bundle_end(const struct shard_model *model, uint32_t i)
{
	uint32_t low, high, l, h;
	shard_bundle_ends(model, i, &low, &high);
	for (i++; i < model->bundles; i++) {
		shard_bundle_ends(model, i, &l, &h);
		if (l != low || h != high)
			break;
	}
	return i;
}

void shard_model_sum(const struct shard_model *model, uint32_t begin, uint32_t end, double *sum)
{
	const struct shard_problem *problem = model->problem;
	uint32_t low, high;
	shard_bundle_ends(model, begin, &low, &high);
	uint32_t rows = shard_width(model, low), columns = shard_width(model, high);
	CLEAR(sum, (size_t)rows * columns);
	FOR_FROM(i, begin, end) {
		uint32_t edge = model->group[model->bundle[i]].edge, width = shard_strategies(problem, problem->to[edge]);
		const int64_t *pair = problem->pair + problem->table[edge];
		bool along = model->node_of[problem->from[edge]] == low;
		FOR(p, rows)
			FOR(q, columns) {
				uint32_t from = shard_original(model, problem->from[edge], along ? p : q);
				uint32_t to = shard_original(model, problem->to[edge], along ? q : p);
				int64_t cost = pair[(size_t)from * width + to];
				sum[(size_t)p * columns + q] += cost >= SHARD_FORBIDDEN ? model->penalty : (double)cost;
			}
	}
}

/* Is every cost the sum of one that depends on the row and one that depends on the column? */
static bool separable(const double *sum, uint32_t rows, uint32_t columns)
{
	FOR_FROM(p, 1, rows)
		FOR_FROM(q, 1, columns)
			if (sum[(size_t)p * columns + q] - sum[q] != sum[(size_t)p * columns] - sum[0])
				return false;
	return true;
}

static void problems_model_fold(struct shard_model *model, uint32_t low, uint32_t high, const double *sum)
{
	uint32_t rows = shard_width(model, low), columns = shard_width(model, high);
	FOR(p, rows)
		model->unary[model->first[low] + p] += sum[(size_t)p * columns];
	FOR(q, columns)
		model->unary[model->first[high] + q] += sum[q] - sum[0];
}

/* Finds a table equal to sum, or adds it, and its transpose behind it. */
static enum status place_table(struct builder *builder, uint32_t edge, uint32_t rows, uint32_t columns)
{
	struct shard_model *model = builder->model;
	size_t size = (size_t)rows * columns;
	uint64_t hash = hash_join(rows, columns);
	FOR_SIZE(i, size) {
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
	NEED(GROWN(model->pair, model->pair_room, model->pair_count + 2 * size));
	double *pair = model->pair + model->pair_count;
	COPY(pair, builder->sum, size);
	FOR(p, rows)
		FOR(q, columns)
			pair[size + (size_t)q * rows + p] = pair[(size_t)p * columns + q];
	model->table[edge] = model->pair_count;
	model->pair_count += 2 * size;
	return OK;
}

/* The largest magnitude of allowed costs. */
static double dearest(const int64_t *cost, size_t count)
{
	double most = 0;
	FOR_SIZE(i, count)
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
	FOR(node, problem->nodes)
		sum += dearest(problem->cost + problem->first[node], shard_strategies(problem, node));
	FOR(edge, problem->edges)
		sum += dearest(problem->pair + problem->table[edge], problem->table[edge + 1] - problem->table[edge]);
	/* Dearer than any choice without a forbidden pair, and no more, to leave digits to what is beside it. */
	model->penalty = 2 * sum;
	FOR(i, model->bundles) {
		uint32_t low, high;
		shard_bundle_ends(model, i, &low, &high);
		size_t size = (size_t)shard_width(model, low) * shard_width(model, high);
		largest = LARGER(size, largest);
	}
	builder->buckets = 2 * model->bundles + 1;
	return ROOM(&builder->arena, builder->bucket, builder->buckets) && ROOM(&builder->arena, builder->sum, largest) &&
		ROOMS(&model->arena, model->bundles, model->tail, model->head, model->table) ? OK : NO_MEMORY;
}

struct bundled { uint32_t low, high, group; };

COMPARATOR(by_nodes, struct bundled, COMPARE(a->low, b->low, COMPARE(a->high, b->high, COMPARE(a->group, b->group, 0))))

/* Groups between different nodes, by these nodes; groups between the same two problem nodes stay next to each other. */
static enum status find_bundles(struct builder *builder)
{
	struct shard_model *model = builder->model;
	struct bundled *bundled;
	NEED(ROOM(&builder->arena, bundled, model->groups));
	FOR(i, model->groups) {
		uint32_t a = model->node_of[model->group[i].low], b = model->node_of[model->group[i].high];
		if (a != b)
			bundled[model->bundles++] = (struct bundled) { a < b ? a : b, LARGER(b, a), i };
	}
	SORT(bundled, model->bundles, by_nodes);
	FOR(i, model->bundles) {
		model->bundle[i] = bundled[i].group;
		model->reduced[i] = NONE;
	}
	return OK;
}

static enum status build_edges(struct builder *builder, const struct control *control)
{
	struct shard_model *model = builder->model;
	TRY(find_bundles(builder));
	TRY(prepare_edges(builder));
	for (uint32_t i = 0, next; i < model->bundles; i = next) {
		uint32_t low, high;
		if (control_status(control) == CANCELLED)
			return CANCELLED;
		shard_bundle_ends(model, i, &low, &high);
		uint32_t rows = shard_width(model, low), columns = shard_width(model, high);
		next = shard_bundle_end(model, i);
		shard_model_sum(model, i, next, builder->sum);
		if (separable(builder->sum, rows, columns)) {
			problems_model_fold(model, low, high, builder->sum);
			continue;
		}
		model->tail[model->edges] = low;
		model->head[model->edges] = high;
		model->reduced[i] = model->edges;
		TRY(place_table(builder, model->edges, rows, columns));
		model->edges++;
	}
	return OK;
}

/* Rows of incident edges, and a place for the message over every one of them, a node's next to each other. */
static enum status build_incidence(struct builder *builder)
{
	struct shard_model *model = builder->model;
	uint32_t *row, *item;
	NEED(ROOMS(&builder->arena, 2 * (size_t)model->edges, row, item) &&
		ROOMS(&model->arena, model->edges, model->into_tail, model->into_head));
	FOR(edge, model->edges) {
		row[2 * edge] = model->tail[edge];
		row[2 * edge + 1] = model->head[edge];
		item[2 * edge] = item[2 * edge + 1] = edge;
	}
	TRY(csr_of_pairs(&model->arena, model->nodes, 2 * model->edges, row, item, &model->incident));
	FOR(node, model->nodes)
		FOR_ITEMS(edge, &model->incident, node) {
			*(model->head[edge] == node ? &model->into_head[edge] : &model->into_tail[edge]) = model->messages;
			model->messages += shard_width(model, node);
		}
	return OK;
}

enum status shard_model_build(struct shard_model *model, const struct shard_problem *problem,
	const struct control *control, struct error *error)
{
	struct builder builder = { .model = model };
	*model = (struct shard_model) { .problem = problem, .nodes = problem->nodes, .limit = (double)problem->limit };
	enum status status = ROOM(&builder.arena, builder.alive, problem->first[problem->nodes])
			? problems_model_find_groups(model) : NO_MEMORY;
	THEN(status, problems_model_settle(&builder));
	THEN(status, problems_model_keep_strategies(&builder, error));
	THEN(status, build_slots(&builder));
	THEN(status, build_edges(&builder, control));
	THEN(status, build_incidence(&builder));
	arena_free(&builder.arena);
	return status == NO_MEMORY ? fail_memory(error) : status;
}

void shard_model_free(struct shard_model *model)
{
	arena_free(&model->arena);
	mem_free(model->pair);
	*model = (struct shard_model) { 0 };
}
