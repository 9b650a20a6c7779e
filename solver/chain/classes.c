/* classes.c: strategies that look alike, and the states that they make.
 *
 * Neighbouring copies, and all copies and the core, know of each other only what the edges between them tell apart.
 * Strategies with equal pairs there are interchangeable to the other side (Freuder, AAAI 1991): states and blocks are
 * made of classes, often a few of many strategies. Exact. */
#include <string.h>

#include "model.h"

/* ---- classes ---- */

enum status chain_classes_begin(struct chain_classes *classes, uint32_t strategies, struct arena *arena)
{
	classes->count = 1;
	return ROOMS(arena, strategies, classes->of, classes->first) ? OK : NO_MEMORY;
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
	int64_t *MAKE_IN(arena, pair, (size_t)height * width);
	FOR_WHILE(p, height, pair)
		FOR(q, width)
			pair[(size_t)p * width + q] =
				table->pair[(size_t)(rows ? rows->first[p] : p) * table->columns + (columns ? columns->first[q] : q)];
	return pair;
}

/* ---- states ---- */

/* A state is the classes of the step edges' tails. */
enum status chain_state_choose(struct chain_model *model, struct chain_link *link)
{
	const struct shard_chain *chain = model->chain;
	double states = 1;
	NEED(ROOM(&model->arena, link->tail, chain->edges));
	FOR(i, chain->edges) {
		const struct chain_edge *edge = &chain->edge[i];
		if (!edge->step || chain->segment[edge->from] != link->segment || model->table[i].separable)
			continue;
		struct chain_side *tail = chain_side_of(link->tail, link->tails, edge->from);
		if (!tail) {
			tail = &link->tail[link->tails++];
			tail->node = edge->from;
			NEED(chain_classes_begin(&tail->classes, chain_width(model, edge->from), &model->arena) == OK);
		}
		TRY(chain_classes_split(&tail->classes, &model->table[i], false));
	}
	FOR(i, link->tails)
		states *= link->tail[i].classes.count;
	link->states = states < 1e9 ? (uint32_t)states : 0;
	return states < 1e9 ? OK : LIMIT;
}
