/* reduce.c: forbidden strategies go; costs are counted from the least of each. */
#include "model.h"

static int64_t reduce_pair_of(const struct shard_chain *chain, const struct chain_edge *edge, uint32_t p, uint32_t q)
{
	return chain->pair[edge->table + (size_t)p * chain_strategies(chain, edge->to) + q];
}

/* Off everything that is allowed; where nothing is, zeros are left. */
static void take_off(int64_t *values, size_t count, int64_t least)
{
	FOR_SIZE(i, count)
		values[i] = chain_blocked(least) ? 0 : chain_blocked(values[i]) ? CHAIN_BLOCKED : values[i] - least;
}

/* Takes the least of what is allowed off everything that is. */
static int64_t take_least(int64_t *values, size_t count)
{
	int64_t least = least_of(values, count, CHAIN_BLOCKED);
	if (chain_blocked(least))
		return 0;
	take_off(values, count, least);
	return least;
}

static enum status reduce_keep_strategies(struct chain_model *model, struct error *error)
{
	const struct shard_chain *chain = model->chain;
	uint32_t all = chain->first[chain->nodes], kept = 0;
	NEED(ROOM(&model->arena, model->first, (size_t)chain->nodes + 1) &&
		ROOMS(&model->arena, all, model->original, model->cost, model->usage));
	FOR(node, chain->nodes) {
		FOR_SPAN(i, chain->first, node)
			if (chain->cost[i] < SHARD_FORBIDDEN) {
				model->original[kept] = i - chain->first[node];
				model->cost[kept] = chain->cost[i];
				model->usage[kept++] = chain->limit >= 0 ? chain->usage[i] : 0;
			}
		if (kept == model->first[node])
			return fail(error, INFEASIBLE, "node %u has no allowed strategy", node);
		model->first[node + 1] = kept;
		uint32_t width = kept - model->first[node], copies = chain_copies(chain, node);
		model->base_cost += take_least(model->cost + model->first[node], width) * copies;
		model->base_usage += take_least(model->usage + model->first[node], width) * copies;
	}
	return OK;
}

/* Takes off every row what is its least, and then off every column; rows and columns where nothing is allowed are left
 * empty. */
static void reduce_separate(struct chain_table *table)
{
	size_t columns = table->columns;
	table->separable = true;
	FOR_SIZE(p, table->rows) {
		int64_t *row = table->pair + p * columns;
		table->row[p] = least_of(row, columns, CHAIN_BLOCKED);
		take_off(row, columns, table->row[p]);
	}
	FOR_SIZE(q, columns) {
		int64_t least = CHAIN_BLOCKED;
		FOR_SIZE(p, table->rows)
			if (!chain_blocked(table->row[p]) && table->pair[p * columns + q] < least)
				least = table->pair[p * columns + q];
		table->column[q] = least;
		FOR_SIZE(p, table->rows)
			if (!chain_blocked(table->row[p]))
				take_off(table->pair + p * columns + q, 1, least);
	}
	FOR_SIZE(i, table->rows * columns)
		table->separable &= !table->pair[i];
}

static enum status keep_table(struct chain_model *model, uint32_t number)
{
	const struct shard_chain *chain = model->chain;
	const struct chain_edge *edge = &chain->edge[number];
	struct chain_table *table = &model->table[number];
	table->rows = chain_width(model, edge->from);
	table->columns = chain_width(model, edge->to);
	NEED(ROOM(&model->arena, table->pair, (size_t)table->rows * table->columns));
	FOR(p, table->rows)
		FOR(q, table->columns) {
			int64_t cost = reduce_pair_of(chain, edge, model->original[model->first[edge->from] + p],
				model->original[model->first[edge->to] + q]);
			table->pair[(size_t)p * table->columns + q] = cost < SHARD_FORBIDDEN ? cost : CHAIN_BLOCKED;
		}
	model->base_cost += take_least(table->pair, (size_t)table->rows * table->columns) * chain_times(chain, edge);
	NEED(ROOM(&model->arena, table->row, table->rows) && ROOM(&model->arena, table->column, table->columns));
	reduce_separate(table);
	return OK;
}

enum status chain_model_reduce(struct chain_model *model, struct error *error)
{
	TRY(reduce_keep_strategies(model, error));
	NEED(ROOM(&model->arena, model->table, model->chain->edges));
	FOR(i, model->chain->edges)
		TRY(keep_table(model, i));
	return OK;
}
