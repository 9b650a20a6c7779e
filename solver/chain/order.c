/* order.c: in which order variables are eliminated, and the buckets that follow from it.
 *
 * Greedy least weighted fill (Koller, Friedman, Probabilistic Graphical Models, 2009, section 9.4.3.2), smaller tables
 * first among equals. An edge that is filled in weighs the product of its ends' values, or of their logarithms: neither
 * is always better, the smaller of both orders is taken. */
#include <string.h>

#include "solver/base/sort.h"
#include "tree.h"

#define VARS_MAX 12000 /* neighbours are bit sets */
#define PIECE 2048     /* entries of a table that are summed at a time: they stay in the cache */
#define MANY 30000     /* entries from which on a second order is tried */

struct ordering {
	const struct chain_graph *graph;
	uint32_t words;
	uint64_t *near;   /* [vars * words] */
	uint64_t *weight; /* [vars] */
	uint64_t *fill;   /* products of weights of the edges that eliminating a variable would add */
	double *size;     /* entries of its bucket */
	bool *late;       /* not before all others */
	bool *is_stale;
	uint32_t *stale, stales; /* whose fill is to be found anew */
	struct order_heap left, last; /* not eliminated yet: the others, and those that are late */
	uint32_t *list; /* scratch: a variable's neighbours */
	double entries;
};

static uint64_t *chain_order_row_of(const struct ordering *ordering, uint32_t var)
{
	return ordering->near + (size_t)var * ordering->words;
}

static uint32_t neighbours(const struct ordering *ordering, uint32_t var)
{
	uint32_t count = 0;
	const uint64_t *row = chain_order_row_of(ordering, var);
	FOR(word, ordering->words)
		for (uint64_t bits = row[word]; bits; bits &= bits - 1)
			ordering->list[count++] = 64 * word + (uint32_t)__builtin_ctzll(bits);
	return count;
}

/* The sum of the weights of those in both sets. */
static uint64_t common_weight(const struct ordering *ordering, const uint64_t *row, const uint64_t *other)
{
	uint64_t sum = 0;
	FOR(word, ordering->words)
		for (uint64_t bits = row[word] & other[word]; bits; bits &= bits - 1)
			sum += ordering->weight[64 * word + (uint32_t)__builtin_ctzll(bits)];
	return sum;
}

static void chain_order_weigh(struct ordering *ordering, uint32_t var)
{
	uint32_t count = neighbours(ordering, var);
	uint64_t sum = 0, present = 0;
	double size = ordering->graph->domain[var];
	const uint64_t *row = chain_order_row_of(ordering, var);
	FOR(i, count)
		sum += ordering->weight[ordering->list[i]];
	FOR(i, count) {
		uint64_t weight = ordering->weight[ordering->list[i]];
		size *= ordering->graph->domain[ordering->list[i]];
		present += weight * (weight + common_weight(ordering, row, chain_order_row_of(ordering, ordering->list[i])));
	}
	ordering->fill[var] = (sum * sum - present) / 2;
	ordering->size[var] = size;
}

static void note_stale(struct ordering *ordering, uint32_t var)
{
	if (!ordering->is_stale[var] && var >= ordering->graph->kept)
		ordering->stale[ordering->stales++] = var;
	ordering->is_stale[var] = true;
}

/* Numbers that are sorted like these sizes, which are positive. */
static int64_t chain_order_rank_of(double size)
{
	int64_t bits;
	memcpy(&bits, &size, sizeof bits);
	return bits;
}

/* Weighs those that are stale, and puts them where they belong: by fill, then by size. */
static void sort_stale(struct ordering *ordering)
{
	FOR(i, ordering->stales) {
		uint32_t var = ordering->stale[i];
		chain_order_weigh(ordering, var);
		ordering->is_stale[var] = false;
		/* A sum without a sign. */
		order_heap_put(ordering->late[var] ? &ordering->last : &ordering->left, var,
			(int64_t)(ordering->fill[var] ^ UINT64_C(1) << 63), chain_order_rank_of(ordering->size[var]));
	}
	ordering->stales = 0;
}

/* Joins the neighbours with each other and takes the variable out. */
static void chain_order_take_out(struct ordering *ordering, uint32_t var)
{
	uint32_t count = neighbours(ordering, var);
	uint64_t *row = chain_order_row_of(ordering, var);
	FOR(i, count) {
		uint64_t *other = chain_order_row_of(ordering, ordering->list[i]);
		FOR(word, ordering->words)
			other[word] |= row[word];
		other[var / 64] &= ~(UINT64_C(1) << var % 64);
		other[ordering->list[i] / 64] &= ~(UINT64_C(1) << ordering->list[i] % 64);
	}
	FOR(i, count) {
		const uint64_t *other = chain_order_row_of(ordering, ordering->list[i]);
		note_stale(ordering, ordering->list[i]);
		FOR(word, ordering->words)
			for (uint64_t bits = other[word]; bits; bits &= bits - 1)
				note_stale(ordering, 64 * word + (uint32_t)__builtin_ctzll(bits));
	}
}

static void join_factors(struct ordering *ordering)
{
	const struct chain_graph *graph = ordering->graph;
	FOR(i, graph->factors)
		FOR(j, graph->factor[i].count)
			FOR(k, graph->factor[i].count)
				if (j != k)
					chain_order_row_of(ordering, graph->factor[i].var[j])[graph->factor[i].var[k] / 64] |=
						UINT64_C(1) << graph->factor[i].var[k] % 64;
}

static void chain_order_run(struct ordering *ordering, uint32_t *order, struct control *control)
{
	const struct chain_graph *graph = ordering->graph;
	uint32_t left = 0, steps = 0;
	join_factors(ordering);
	/* Those alone first: no search among them. */
	FOR_FROM(var, graph->kept, graph->vars)
		if (neighbours(ordering, var) == 0) {
			ordering->entries += graph->domain[var];
			order[steps++] = var;
		} else {
			note_stale(ordering, var);
			left++;
		}
	for (; left; left--) {
		sort_stale(ordering);
		struct order_heap *heap = ordering->left.count ? &ordering->left : &ordering->last;
		uint32_t var = order_heap_top(heap);
		order_heap_remove(heap, var);
		ordering->entries += ordering->size[var];
		chain_order_take_out(ordering, var);
		order[steps++] = var;
		control_spend(control, left);
	}
}

/* About four times the binary logarithm. */
static uint64_t chain_order_logarithm(uint32_t domain)
{
	uint64_t square = (uint64_t)domain * domain, power = square < UINT32_MAX ? square * square : UINT64_MAX;
	return 64 - (uint64_t)__builtin_clzll(power | 1);
}

static enum status chain_order_find(const struct chain_graph *graph, bool links_last, bool logarithms, uint32_t *order,
	double *entries, struct control *control)
{
	OWN(arena) arena = { 0 };
	uint32_t vars = graph->vars;
	struct ordering ordering = { .graph = graph, .words = (vars + 63) / 64 };
	bool full = ROOM(&arena, ordering.near, (size_t)vars * ordering.words) &&
		ROOMS(&arena, vars, ordering.weight, ordering.fill, ordering.size, ordering.stale, ordering.is_stale,
		ordering.late, ordering.list) && order_heap_init(&ordering.left, vars, &arena) == OK &&
		order_heap_init(&ordering.last, vars, &arena) == OK;
	FOR_WHILE(i, graph->factors, full && links_last)
		FOR_WHILE(j, graph->factor[i].count, graph->factor[i].weight)
			ordering.late[graph->factor[i].var[j]] = true;
	FOR_WHILE(var, vars, full)
		ordering.weight[var] = logarithms ? chain_order_logarithm(graph->domain[var]) : graph->domain[var];
	if (full)
		chain_order_run(&ordering, order, control);
	*entries = ordering.entries;
	return full ? OK : NO_MEMORY;
}

/* ---- buckets ---- */

static size_t chain_order_product(const struct chain_graph *graph, const uint32_t *scope, uint32_t count)
{
	size_t size = 1;
	FOR(i, count)
		size *= graph->domain[scope[i]];
	return size;
}

/* Variables of a piece next to each other in both tables, or all missing in the part's, are walked over as one. */
static enum status join_levels(struct chain_tree *tree, const struct chain_bucket *bucket, struct chain_part *part)
{
	NEED(ROOMS(&tree->arena, (size_t)bucket->count + 1, part->extent, part->step));
	FOR_FROM(i, bucket->outer, bucket->count) {
		uint32_t domain = tree->graph->domain[bucket->scope[i]], last = part->levels - 1;
		if (part->levels && part->step[last] == part->stride[i] * domain) {
			part->extent[last] *= domain;
			part->step[last] = part->stride[i];
		} else {
			part->extent[part->levels] = domain;
			part->step[part->levels++] = part->stride[i];
		}
	}
	if (!part->levels)
		part->extent[part->levels++] = 1;
	return OK;
}

/* Where each variable of the bucket's scope is in a table over other variables, the last running fastest. */
static enum status set_strides(struct chain_tree *tree, const struct chain_bucket *bucket, const uint32_t *scope,
	uint32_t count, struct chain_part *part)
{
	size_t step = 1;
	NEED(ROOM(&tree->arena, part->stride, bucket->count));
	for (uint32_t i = count; i-- > 0; step *= tree->graph->domain[scope[i]])
		FOR(j, bucket->count)
			if (bucket->scope[j] == scope[i])
				part->stride[j] = step;
	return join_levels(tree, bucket, part);
}

struct gathering {
	struct chain_tree *tree;
	const uint32_t *position; /* [vars] bucket that eliminates it; the root's number for kept ones */
	struct csr factors;       /* bucket -> factors */
	uint32_t *child, *next;   /* [buckets] lists of children */
	uint32_t *mark;           /* [vars] bucket + 1 that has it in its scope */
	uint32_t *scope;          /* scratch [vars] */
};

static void add_scope(
	struct gathering *gathering, uint32_t number, const uint32_t *scope, uint32_t count, uint32_t *known)
{
	FOR(i, count)
		if (gathering->mark[scope[i]] != number + 1) {
			gathering->mark[scope[i]] = number + 1;
			gathering->scope[(*known)++] = scope[i];
		}
}

/* Variables of a bucket by when they are eliminated, the latest first, so that its own comes last. */
static void sort_scope(const struct gathering *gathering, uint32_t count)
{
	FOR_FROM(i, 1, count)
		for (uint32_t j = i; j > 0; j--) {
			uint32_t a = gathering->scope[j - 1], b = gathering->scope[j];
			if (gathering->position[a] > gathering->position[b] || (gathering->position[a] == gathering->position[b] && a < b))
				break;
			gathering->scope[j - 1] = b;
			gathering->scope[j] = a;
		}
}

static enum status take_parts(struct gathering *gathering, uint32_t number)
{
	struct chain_tree *tree = gathering->tree;
	const struct chain_graph *graph = tree->graph;
	struct chain_bucket *bucket = &tree->bucket[number];
	enum status status = OK;
	uint32_t children = 0;
	for (uint32_t child = gathering->child[number]; child != NONE; child = gathering->next[child])
		children++;
	NEED(ROOM(&tree->arena, bucket->part, children + csr_length(&gathering->factors, number)));
	bucket->plain = bucket->var != NONE; /* the root is always in weights: what is around it comes from outside */
	FOR_ITEMS(item, &gathering->factors, number) {
		const struct chain_factor *factor = &graph->factor[item];
		struct chain_part *part = &bucket->part[bucket->parts++];
		*part = (struct chain_part) { .factor = item, .child = NONE };
		status = status == OK ? set_strides(tree, bucket, factor->var, factor->count, part) : status;
		bucket->plain &= !factor->usage && !factor->weight;
	}
	for (uint32_t child = gathering->child[number]; child != NONE; child = gathering->next[child]) {
		const struct chain_bucket *below = &tree->bucket[child];
		struct chain_part *part = &bucket->part[bucket->parts++];
		*part = (struct chain_part) { .factor = NONE, .child = child };
		status = status == OK ? set_strides(tree, bucket, below->scope, below->count - 1, part) : status;
		bucket->plain &= below->plain;
	}
	return status;
}

static enum status make_bucket(struct gathering *gathering, uint32_t number)
{
	struct chain_tree *tree = gathering->tree;
	const struct chain_graph *graph = tree->graph;
	struct chain_bucket *bucket = &tree->bucket[number];
	bool root = number + 1 == tree->buckets;
	uint32_t count = 0;
	if (root) {
		while (count < graph->kept) {
			gathering->scope[count] = count;
			count++;
		}
	} else {
		add_scope(gathering, number, &bucket->var, 1, &count);
	}
	FOR_ITEMS(factor, &gathering->factors, number)
		add_scope(gathering, number, root ? NULL : graph->factor[factor].var,
			root ? 0 : graph->factor[factor].count, &count);
	for (uint32_t child = gathering->child[number]; child != NONE && !root; child = gathering->next[child])
		add_scope(gathering, number, tree->bucket[child].scope, tree->bucket[child].count - 1, &count);
	if (!root)
		sort_scope(gathering, count);
	bucket->count = count;
	NEED(ROOM(&tree->arena, bucket->scope, count));
	FOR(i, count)
		bucket->scope[i] = gathering->scope[i];
	bucket->size = chain_order_product(graph, bucket->scope, count);
	bucket->rows = root ? bucket->size : bucket->size / graph->domain[bucket->var];
	bucket->piece = bucket->size;
	while (bucket->piece > PIECE && bucket->outer + 1 < count)
		bucket->piece /= graph->domain[bucket->scope[bucket->outer++]];
	enum status status = take_parts(gathering, number);
	bucket->parent = root ? NONE : count > 1 ? gathering->position[bucket->scope[count - 2]] : tree->buckets - 1;
	if (!root) {
		gathering->next[number] = gathering->child[bucket->parent];
		gathering->child[bucket->parent] = number;
	}
	return status;
}

/* Room for a part's table in the bucket's weights, where it isn't there anyway. */
static bool give_source(struct chain_tree *tree, const struct chain_bucket *bucket, struct chain_part *part)
{
	const struct chain_factor *factor = part->child == NONE ? &tree->graph->factor[part->factor] : NULL;
	const struct chain_bucket *child = factor ? NULL : &tree->bucket[part->child];
	if (bucket->plain || (factor ? factor->weight != NULL : !child->plain))
		return true;
	return ROOM(&tree->arena, part->scaled, factor ? factor->size : child->rows);
}

static enum status give_tables(struct chain_tree *tree, size_t budget)
{
	size_t largest = 1;
	FOR(i, tree->buckets) {
		tree->entries += tree->bucket[i].size * (tree->bucket[i].parts + 1);
		largest = LARGER(tree->bucket[i].piece, largest);
	}
	if (tree->entries > 8 * budget)
		return LIMIT;
	bool full = ROOM(&tree->arena, tree->scratch, largest);
	FOR_WHILE(i, tree->buckets, full) {
		struct chain_bucket *bucket = &tree->bucket[i];
		bool root = bucket->var == NONE;
		ROOM(&tree->arena, bucket->up, root ? bucket->size : bucket->rows);
		bucket->table = root ? bucket->up : NULL;
		full = bucket->up != NULL;
		FOR_WHILE(j, bucket->parts, full)
			full = give_source(tree, bucket, &bucket->part[j]);
	}
	return full ? OK : NO_MEMORY;
}

static enum status make_buckets(
	struct gathering *gathering, const uint32_t *order, uint32_t *position, struct arena *arena)
{
	struct chain_tree *tree = gathering->tree;
	const struct chain_graph *graph = tree->graph;
	uint32_t root = tree->buckets - 1;
	uint32_t *home, *item;
	NEED(ROOMS(arena, graph->factors, home, item));
	FOR(var, graph->kept)
		position[var] = root;
	FOR(i, root) {
		position[order[i]] = i;
		tree->bucket[i].var = order[i];
	}
	tree->bucket[root].var = NONE;
	FOR(i, graph->factors) {
		home[i] = root;
		item[i] = i;
		FOR(j, graph->factor[i].count)
			home[i] = SMALLER(position[graph->factor[i].var[j]], home[i]);
	}
	TRY(csr_of_pairs(arena, tree->buckets, graph->factors, home, item, &gathering->factors));
	FOR(i, tree->buckets)
		gathering->child[i] = NONE;
	FOR(i, tree->buckets)
		TRY(make_bucket(gathering, i));
	return OK;
}

/* The better of both weights' orders. */
static enum status better_order(const struct chain_graph *graph, bool links_last, uint32_t *order, double *entries,
	struct arena *arena, struct control *control)
{
	double others = 0;
	uint32_t *other = NULL;
	NEED(ROOM(arena, other, graph->vars));
	TRY(chain_order_find(graph, links_last, false, order, entries, control));
	if (*entries > MANY)
		TRY(chain_order_find(graph, links_last, true, other, &others, control));
	if (*entries > MANY && others < *entries) {
		COPY(order, other, (graph->vars - graph->kept));
		*entries = others;
	}
	return OK;
}

/* The order with the variables of links last, unless the other one is much smaller. */
static enum status choose_order(
	const struct chain_graph *graph, size_t budget, uint32_t *order, struct arena *arena, struct control *control)
{
	double last, free_order;
	bool links = false;
	uint32_t *other;
	NEED(ROOM(arena, other, graph->vars));
	FOR(i, graph->factors)
		links |= graph->factor[i].weight != NULL;
	TRY(better_order(graph, true, order, &last, arena, control));
	if (links && last > (double)(1 << 18)) {
		TRY(better_order(graph, false, other, &free_order, arena, control));
		if (free_order < last / 2 || last > (double)budget) {
			COPY(order, other, (graph->vars - graph->kept));
			last = free_order;
		}
	}
	return last > (double)budget ? LIMIT : OK;
}

enum status chain_tree_build(
	struct chain_tree *tree, const struct chain_graph *graph, size_t budget, struct control *control)
{
	OWN(arena) arena = { 0 };
	*tree = (struct chain_tree) { .graph = graph, .buckets = graph->vars - graph->kept + 1 };
	NEED(!graph->failed);
	double kept = 1;
	FOR(i, graph->kept)
		kept *= graph->domain[i];
	if (graph->vars > VARS_MAX || kept > (double)budget)
		return LIMIT;
	struct gathering gathering = { .tree = tree };
	uint32_t *MAKE_IN(&arena, order, graph->vars);
	ROOM(&arena, gathering.child, tree->buckets);
	ROOM(&arena, gathering.next, tree->buckets);
	ROOM(&arena, gathering.mark, graph->vars);
	ROOM(&arena, gathering.scope, graph->vars);
	gathering.position = tree->bucket_of = arena_alloc(&tree->arena, graph->vars, sizeof *tree->bucket_of);
	bool full = ROOM(&tree->arena, tree->bucket, tree->buckets) && order && gathering.child && gathering.next &&
		gathering.mark && gathering.scope && tree->bucket_of;
	NEED(full);
	TRY(choose_order(graph, budget, order, &arena, control));
	TRY(make_buckets(&gathering, order, tree->bucket_of, &arena));
	return give_tables(tree, budget);
}

void chain_tree_free(struct chain_tree *tree)
{
	arena_free(&tree->arena);
	*tree = (struct chain_tree) { 0 };
}
