/* tree.c: the pass over buckets, and reading choices off them. */
#include <string.h>

#include "tree.h"

#define SUMS 6       /* that may be added before blocked entries have to be looked at */
#define SCOPE_MAX 64 /* a bucket of more variables, each with two values, is beyond any budget */

static bool chain_tree_grow(struct arena *arena, void **array, uint32_t count, uint32_t *room, size_t size)
{
	if (count < *room)
		return true;
	uint32_t larger = *room ? 2 * *room : 64;
	void *moved = arena_alloc(arena, larger, size);
	if (!moved)
		return false;
	if (count)
		memcpy(moved, *array, count * size);
	*array = moved;
	*room = larger;
	return true;
}

uint32_t chain_graph_var(struct chain_graph *graph, uint32_t domain)
{
	void *array = graph->domain, *alone = graph->alone;
	uint32_t room = graph->var_room;
	if (!chain_tree_grow(graph->arena, &alone, graph->vars, &room, sizeof *graph->alone) ||
	    !chain_tree_grow(graph->arena, &array, graph->vars, &graph->var_room, sizeof *graph->domain)) {
		graph->failed = true;
		return 0;
	}
	graph->domain = array;
	graph->alone = alone;
	graph->domain[graph->vars] = domain;
	graph->alone[graph->vars] = NONE;
	return graph->vars++;
}

uint32_t chain_graph_factor(struct chain_graph *graph, const struct chain_factor *factor)
{
	void *array = graph->factor;
	if (!chain_tree_grow(graph->arena, &array, graph->factors, &graph->factor_room, sizeof *graph->factor)) {
		graph->failed = true;
		return 0;
	}
	graph->factor = array;
	graph->factor[graph->factors] = *factor;
	return graph->factors++;
}

static bool all_zero(const int64_t *values, uint32_t count)
{
	FOR_WHILE(i, count, values)
		if (values[i])
			return false;
	return true;
}

static struct chain_factor *factor_alone(struct chain_graph *graph, uint32_t var)
{
	if (graph->alone[var] == NONE) {
		struct chain_factor factor = { .count = 1, .size = graph->domain[var] };
		if (!(ROOM(graph->arena, factor.var, 1) && ROOM(graph->arena, factor.cost, factor.size))) {
			graph->failed = true;
			return NULL;
		}
		*factor.var = var;
		uint32_t number = chain_graph_factor(graph, &factor);
		if (graph->failed)
			return NULL;
		graph->alone[var] = number;
	}
	return &graph->factor[graph->alone[var]];
}

void chain_graph_add(struct chain_graph *graph, uint32_t var, const int64_t *cost, const int64_t *usage, int64_t times)
{
	if (graph->failed || (all_zero(cost, graph->domain[var]) && all_zero(usage, graph->domain[var])))
		return;
	struct chain_factor *factor = factor_alone(graph, var);
	bool uses = !all_zero(usage, graph->domain[var]);
	if (factor && uses && !factor->usage &&
		!ROOM(graph->arena, factor->usage, factor->size))
		graph->failed = true;
	FOR_WHILE(i, graph->domain[var], !graph->failed) {
		factor->cost[i] = chain_blocked(cost[i]) || chain_blocked(factor->cost[i]) ? CHAIN_BLOCKED
			: factor->cost[i] + times * cost[i];
		if (uses)
			factor->usage[i] += times * usage[i];
	}
}

/* ---- pieces of tables ---- */

/* All assignments within a piece but for the innermost level, with the place in a part's table. */
struct walk {
	const struct chain_part *part;
	uint32_t digit[SCOPE_MAX];
	size_t here, there; /* in the piece; in the part's table, from where the piece begins */
	uint32_t inner;     /* entries of the innermost level */
	size_t step;        /* its stride in the part's table */
};

static void walk_begin(struct walk *walk, const struct chain_part *part)
{
	walk->part = part;
	CLEAR(walk->digit, part->levels);
	walk->here = walk->there = 0;
	walk->inner = part->extent[part->levels - 1];
	walk->step = part->step[part->levels - 1];
}

static inline bool walk_next(struct walk *walk)
{
	walk->here += walk->inner;
	FOR_DOWN(at, walk->part->levels - 1) {
		walk->there += walk->part->step[at];
		if (++walk->digit[at] < walk->part->extent[at])
			return true;
		walk->there -= walk->part->step[at] * walk->digit[at];
		walk->digit[at] = 0;
	}
	return false;
}

/* Where a piece begins in the part's table. */
static size_t piece_start(
	const struct chain_tree *tree, const struct chain_bucket *bucket, const struct chain_part *part, size_t number)
{
	size_t start = 0;
	FOR_DOWN(i, bucket->outer) {
		uint32_t domain = tree->graph->domain[bucket->scope[i]];
		start += number % domain * part->stride[i];
		number /= domain;
	}
	return start;
}

/* Sums of two at a time, wherever they begin. */
typedef int64_t two_sums __attribute__((vector_size(16), aligned(8), may_alias));

static void chain_tree_add_row(int64_t *to, const int64_t *from, uint32_t count)
{
	uint32_t i = 0;
	for (; i + 4 <= count; i += 4) {
		*(two_sums *)(to + i) += *(const two_sums *)(from + i);
		*(two_sums *)(to + i + 2) += *(const two_sums *)(from + i + 2);
	}
	for (; i < count; i++)
		to[i] += from[i];
}

static void add_one(int64_t *to, int64_t one, uint32_t count)
{
	const two_sums both = { one, one };
	uint32_t i = 0;
	for (; i + 2 <= count; i += 2)
		*(two_sums *)(to + i) += both;
	for (; i < count; i++)
		to[i] += one;
}

/* piece += source, where the source has fewer variables. */
static void chain_tree_add_table(const struct chain_part *part, const int64_t *source, int64_t *restrict piece)
{
	struct walk walk;
	walk_begin(&walk, part);
	do {
		int64_t *restrict to = piece + walk.here;
		const int64_t *from = source + walk.there;
		if (walk.step == 0)
			add_one(to, from[0], walk.inner);
		else if (walk.step == 1)
			chain_tree_add_row(to, from, walk.inner);
		else
			FOR(i, walk.inner)
				to[i] += from[i * walk.step];
	} while (walk_next(&walk));
}

static void chain_tree_settle(int64_t *table, size_t size)
{
	FOR_SIZE(i, size)
		table[i] = chain_blocked(table[i]) ? CHAIN_BLOCKED : table[i];
}

/* A piece of the sums of parts; blocked entries may be larger than CHAIN_BLOCKED. */
static void make_piece(const struct chain_tree *tree, const struct chain_bucket *bucket, size_t number, int64_t *piece)
{
	CLEAR(piece, bucket->piece);
	FOR(i, bucket->parts) {
		const struct chain_part *part = &bucket->part[i];
		chain_tree_add_table(part, part->source + piece_start(tree, bucket, part, number), piece);
		if (i % SUMS == SUMS - 1)
			chain_tree_settle(piece, bucket->piece);
	}
}

/* ---- up ---- */

static void chain_tree_scale(
	const int64_t *cost, const int64_t *usage, int64_t alpha, int64_t beta, size_t size, int64_t *scaled)
{
	FOR_SIZE(i, size)
		scaled[i] = chain_blocked(cost[i]) ? CHAIN_BLOCKED : alpha * cost[i] + (usage ? beta * usage[i] : 0);
}

/* Plain buckets have costs, all others weights. */
static void set_source(const struct chain_tree *tree, const struct chain_bucket *bucket, struct chain_part *part)
{
	if (part->child != NONE) {
		const struct chain_bucket *child = &tree->bucket[part->child];
		part->source = part->scaled ? part->scaled : child->up;
		if (part->scaled)
			chain_tree_scale(child->up, NULL, tree->alpha, 0, child->rows, part->scaled);
	} else {
		const struct chain_factor *factor = &tree->graph->factor[part->factor];
		part->source = factor->weight ? factor->weight : bucket->plain ? factor->cost : part->scaled;
		if (part->scaled)
			chain_tree_scale(factor->cost, factor->usage, tree->alpha, tree->beta, factor->size, part->scaled);
	}
}

static void chain_tree_eliminate(const int64_t *piece, uint32_t domain, size_t rows, int64_t *up)
{
	FOR_SIZE(row, rows) {
		const int64_t *entry = piece + row * domain;
		int64_t least = CHAIN_BLOCKED;
		FOR(i, domain)
			least = SMALLER(entry[i], least);
		up[row] = chain_blocked(least) ? CHAIN_BLOCKED : least;
	}
}

static void sum_bucket(const struct chain_tree *tree, struct chain_bucket *bucket)
{
	uint32_t domain = bucket->var == NONE ? 1 : tree->graph->domain[bucket->var];
	size_t rows = bucket->piece / domain;
	FOR(i, bucket->parts)
		set_source(tree, bucket, &bucket->part[i]);
	FOR_SIZE(number, bucket->size / bucket->piece) {
		int64_t *piece = bucket->table ? bucket->table + number * bucket->piece : tree->scratch;
		make_piece(tree, bucket, number, piece);
		if (bucket->table)
			chain_tree_settle(piece, bucket->piece);
		if (bucket->var != NONE)
			chain_tree_eliminate(piece, domain, rows, bucket->up + number * rows);
	}
}

/* The entry of the root that is least. */
static size_t chain_tree_best(const struct chain_tree *tree)
{
	const struct chain_bucket *root = &tree->bucket[tree->buckets - 1];
	size_t best = 0;
	for (size_t i = 1; i < root->size; i++)
		if (root->table[i] < root->table[best])
			best = i;
	return best;
}

int64_t chain_tree_up(struct chain_tree *tree, int64_t alpha, int64_t beta, struct control *control)
{
	tree->alpha = alpha;
	tree->beta = beta;
	FOR(i, tree->buckets) {
		struct chain_bucket *bucket = &tree->bucket[i];
		if (!bucket->plain || !bucket->ready)
			sum_bucket(tree, bucket);
		bucket->ready = true;
	}
	control_spend(control, tree->entries / 8);
	return tree->bucket[tree->buckets - 1].table[chain_tree_best(tree)];
}

/* ---- choices ---- */

void chain_tree_digits(const struct chain_tree *tree, const struct chain_bucket *bucket, size_t row, uint32_t *value)
{
	FOR_DOWN(i, bucket->count - (bucket->var != NONE)) {
		uint32_t domain = tree->graph->domain[bucket->scope[i]];
		value[bucket->scope[i]] = (uint32_t)(row % domain);
		row /= domain;
	}
}

static size_t part_entry(const struct chain_bucket *bucket, const struct chain_part *part, const uint32_t *value)
{
	size_t entry = 0;
	FOR(i, bucket->count)
		entry += part->stride[i] * value[bucket->scope[i]];
	return entry;
}

static void decode_bucket(const struct chain_tree *tree, const struct chain_bucket *bucket, uint32_t *value)
{
	uint32_t best = 0;
	int64_t least = CHAIN_BLOCKED;
	FOR(i, tree->graph->domain[bucket->var]) {
		int64_t weight = 0;
		value[bucket->var] = i;
		FOR_WHILE(j, bucket->parts, !chain_blocked(weight))
			weight += bucket->part[j].source[part_entry(bucket, &bucket->part[j], value)];
		if (weight < least) {
			least = weight;
			best = i;
		}
	}
	value[bucket->var] = best;
}

void chain_tree_decode(const struct chain_tree *tree, uint32_t *value)
{
	FOR_DOWN(i, tree->buckets - 1)
		decode_bucket(tree, &tree->bucket[i], value);
}
