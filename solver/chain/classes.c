/* classes.c: strategies that look alike, and the states that they make.
 *
 * Neighbouring copies, and all copies and the core, know of each other only what the edges between them tell apart.
 * Strategies with equal pairs there are interchangeable to the other side (Freuder, AAAI 1991): states and blocks are
 * made of classes, often a few of many strategies. Exact. */
#include <string.h>

#include "model.h"

#define COVER_TAILS 10 /* covers of the step edges are tried out where they have no more tails */

/* ---- classes ---- */

enum status chain_classes_begin(struct chain_classes *classes, uint32_t strategies, struct arena *arena)
{
	classes->count = 1;
	return ROOM(arena, classes->of, strategies) && ROOM(arena, classes->first, strategies) ? OK : NO_MEMORY;
}

static bool classes_alike(const struct chain_table *table, bool columns, uint32_t a, uint32_t b)
{
	FOR_SIZE(i, (columns ? table->rows : table->columns))
		if (columns ? table->pair[i * table->columns + a] != table->pair[i * table->columns + b]
			: table->pair[a * (size_t)table->columns + i] != table->pair[b * (size_t)table->columns + i])
			return false;
	return true;
}

enum status chain_classes_split(struct chain_classes *classes, const struct chain_table *table, bool columns)
{
	uint32_t strategies = columns ? table->columns : table->rows, count = 0;
	uint32_t *MAKE(before, strategies);
	NEED(before);
	COPY(before, classes->of, strategies);
	FOR(i, strategies) {
		uint32_t class = 0;
		while (class < count &&
			(before[classes->first[class]] != before[i] || !classes_alike(table, columns, classes->first[class], i)))
			class++;
		classes->of[i] = class;
		if (class == count)
			classes->first[count++] = i;
	}
	classes->count = count;
	mem_free(before);
	return OK;
}

int64_t *chain_classes_pair(const struct chain_table *table, const struct chain_classes *rows,
	const struct chain_classes *columns, struct arena *arena)
{
	uint32_t height = rows ? rows->count : table->rows, width = columns ? columns->count : table->columns;
	if (height == table->rows && width == table->columns)
		return table->pair;
	int64_t *pair = arena_alloc(arena, (size_t)height * width, sizeof *pair);
	for (uint32_t p = 0; pair && p < height; p++)
		FOR(q, width)
			pair[(size_t)p * width + q] =
				table->pair[(size_t)(rows ? rows->first[p] : p) * table->columns + (columns ? columns->first[q] : q)];
	return pair;
}

/* ---- states ---- */

/* A cover of the step edges: each has its tail or its head in it. */
struct cover {
	uint32_t *edge, edges;  /* step edges that aren't sums */
	struct chain_side *all; /* [count] distinct tails */
	uint32_t count;
	struct chain_side *head; /* [heads] of all edges from other tails */
	uint32_t heads;
	uint32_t set; /* of tails */
};

static bool has_tail(const struct cover *cover, uint32_t tail)
{
	return tail >= 32 ? cover->set == UINT32_MAX : cover->set >> tail & 1;
}

/* Adds a table of an edge to the side of the node, a new one where there is none. */
static enum status see(struct chain_model *model, struct chain_side *side, uint32_t *count, uint32_t node,
	const struct chain_table *table, bool columns)
{
	struct chain_side *old = chain_side_of(side, *count, node);
	if (!old) {
		old = &side[(*count)++];
		old->node = node;
		NEED(chain_classes_begin(&old->classes, chain_width(model, node), &model->arena) == OK);
	}
	return chain_classes_split(&old->classes, table, columns);
}

/* The tails in the set, and the heads of all edges from others; how many states that is. */
static enum status cover_by(struct chain_model *model, struct cover *cover, uint32_t set, double *states)
{
	const struct shard_chain *chain = model->chain;
	enum status status = OK;
	cover->set = set;
	cover->heads = 0;
	*states = 1;
	FOR(i, cover->count)
		*states *= has_tail(cover, i) ? cover->all[i].classes.count : 1;
	for (uint32_t i = 0; i < cover->edges && status == OK; i++) {
		const struct chain_edge *edge = &chain->edge[cover->edge[i]];
		if (!has_tail(cover, (uint32_t)(chain_side_of(cover->all, cover->count, edge->from) - cover->all)))
			status = see(model, cover->head, &cover->heads, edge->to, &model->table[cover->edge[i]], true);
	}
	FOR(i, cover->heads)
		*states *= cover->head[i].classes.count;
	return status;
}

static enum status best_cover(struct chain_model *model, struct cover *cover, double *states)
{
	uint32_t best = 0, last = cover->count <= COVER_TAILS ? 1u << cover->count : 2;
	double least = 0;
	enum status status = OK;
	for (uint32_t i = 0; i < last && status == OK; i++) {
		uint32_t set = cover->count <= COVER_TAILS ? i : i ? UINT32_MAX : 0;
		status = cover_by(model, cover, set, states);
		if (i == 0 || *states < least) {
			least = *states;
			best = set;
		}
	}
	return status == OK ? cover_by(model, cover, best, states) : status;
}

static enum status find_tails(struct chain_model *model, const struct chain_link *link, struct cover *cover)
{
	const struct shard_chain *chain = model->chain;
	FOR(i, chain->edges) {
		const struct chain_edge *edge = &chain->edge[i];
		if (!edge->step || chain->segment[edge->from] != link->segment || model->table[i].separable)
			continue;
		cover->edge[cover->edges++] = i;
		TRY(see(model, cover->all, &cover->count, edge->from, &model->table[i], false));
	}
	return OK;
}

enum status chain_state_choose(struct chain_model *model, struct chain_link *link)
{
	struct cover cover = { 0 };
	double states;
	NEED(ROOM(&model->arena, cover.edge, model->chain->edges) && ROOM(&model->arena, cover.all, model->chain->edges) &&
		ROOM(&model->arena, cover.head, model->chain->edges) && ROOM(&model->arena, link->tail, model->chain->edges));
	TRY(find_tails(model, link, &cover));
	TRY(best_cover(model, &cover, &states));
	FOR(i, cover.count)
		if (has_tail(&cover, i))
			link->tail[link->tails++] = cover.all[i];
	link->head = cover.head;
	link->heads = cover.heads;
	link->states = states < 1e9 ? (uint32_t)states : 0;
	return states < 1e9 ? OK : LIMIT;
}
