/* shard_chain_reduce.c: strategies without a partner, and strategies that another one is as good as, in every copy. */
#include <string.h>

#include "shard_chain_model.h"

#define ROUNDS 4

struct reduction {
	struct chain_model *model;
	const struct shard_chain *chain;
	bool *alive;               /* [strategies of the chain] */
	struct csr edges;          /* node -> edges, twice where both ends are the node */
	struct arena arena;
};

static uint32_t count_of(const struct shard_chain *chain, uint32_t node)
{
	return chain->first[node + 1] - chain->first[node];
}

static int64_t pair_of(const struct shard_chain *chain, const struct chain_edge *edge, uint32_t p, uint32_t q)
{
	return chain->pair[edge->table + (size_t)p * count_of(chain, edge->to) + q];
}

/* ---- partners -------------------------------------------------------------------------------------------------- */

/* Does every copy of an end have this edge? */
static bool everywhere(const struct chain_edge *edge, uint8_t where)
{
	return !edge->step && (where == CHAIN_ONLY || where == CHAIN_EVERY);
}

static bool prune_rows(struct reduction *reduction, const struct chain_edge *edge, bool columns)
{
	const struct shard_chain *chain = reduction->chain;
	uint32_t node = columns ? edge->to : edge->from, other = columns ? edge->from : edge->to;
	bool *alive = reduction->alive + chain->first[node], *partners = reduction->alive + chain->first[other], changed = false;
	for (uint32_t p = 0; p < count_of(chain, node); p++) {
		bool partner = false;
		for (uint32_t q = 0; q < count_of(chain, other) && alive[p] && !partner; q++)
			partner = partners[q] && (columns ? pair_of(chain, edge, q, p) : pair_of(chain, edge, p, q)) < SHARD_FORBIDDEN;
		changed |= alive[p] && !partner;
		alive[p] = partner;
	}
	return changed;
}

static bool any_forbidden(const struct shard_chain *chain, const struct chain_edge *edge)
{
	size_t size = (size_t)count_of(chain, edge->from) * count_of(chain, edge->to);
	for (size_t i = 0; i < size; i++)
		if (chain->pair[edge->table + i] >= SHARD_FORBIDDEN)
			return true;
	return false;
}

static enum status prune(struct reduction *reduction, struct control *control)
{
	const struct shard_chain *chain = reduction->chain;
	bool *forbidden = arena_alloc(&reduction->arena, chain->edges, sizeof *forbidden), changed = true;
	if (!forbidden)
		return NO_MEMORY;
	for (uint32_t i = 0; i < chain->edges; i++)
		forbidden[i] = any_forbidden(chain, &chain->edge[i]);
	for (uint32_t round = 0; changed; round++) {
		changed = false;
		for (uint32_t i = 0; i < chain->edges; i++) {
			uint32_t at = round % 2 ? chain->edges - 1 - i : i;
			const struct chain_edge *edge = &chain->edge[at];
			if (!forbidden[at])
				continue;
			if (everywhere(edge, edge->from_where))
				changed |= prune_rows(reduction, edge, false);
			if (everywhere(edge, edge->to_where))
				changed |= prune_rows(reduction, edge, true);
		}
		if (control_spend(control, chain->edges))
			return control_status(control);
	}
	return OK;
}

/* ---- dominance ------------------------------------------------------------------------------------------------- */

static int64_t capped(int64_t cost)
{
	return cost < SHARD_FORBIDDEN ? cost : SHARD_FORBIDDEN;
}

/* Is q at least as good as p over the edge, whatever the other end chooses? */
static bool as_good_over(const struct reduction *reduction, const struct chain_edge *edge, uint32_t node, uint32_t p, uint32_t q)
{
	const struct shard_chain *chain = reduction->chain;
	const bool *rows = reduction->alive + chain->first[edge->from], *columns = reduction->alive + chain->first[edge->to];
	if (edge->from == node)
		for (uint32_t i = 0; i < count_of(chain, edge->to); i++)
			if (columns[i] && capped(pair_of(chain, edge, q, i)) > capped(pair_of(chain, edge, p, i)))
				return false;
	if (edge->to == node)
		for (uint32_t i = 0; i < count_of(chain, edge->from); i++)
			if (rows[i] && capped(pair_of(chain, edge, i, q)) > capped(pair_of(chain, edge, i, p)))
				return false;
	return true;
}

static bool as_good(const struct reduction *reduction, uint32_t node, uint32_t p, uint32_t q)
{
	const struct shard_chain *chain = reduction->chain;
	const int64_t *cost = chain->cost + chain->first[node], *usage = chain->usage + chain->first[node];
	if (cost[q] > cost[p] || (chain->limit >= 0 && usage[q] > usage[p]))
		return false;
	FOR_ROW(i, &reduction->edges, node)
		if (!as_good_over(reduction, &chain->edge[reduction->edges.item[i]], node, p, q))
			return false;
	return true;
}

static bool drop_dominated(struct reduction *reduction, uint32_t node)
{
	const struct shard_chain *chain = reduction->chain;
	bool *alive = reduction->alive + chain->first[node], changed = false;
	uint32_t count = count_of(chain, node);
	for (uint32_t p = count; p-- > 0;)
		for (uint32_t q = 0; q < count && alive[p]; q++)
			if (q != p && alive[q] && as_good(reduction, node, p, q)) {
				alive[p] = false;
				changed = true;
			}
	return changed;
}

/* ---- what is left ---------------------------------------------------------------------------------------------- */

static enum status keep_strategies(struct reduction *reduction, struct error *error)
{
	struct chain_model *model = reduction->model;
	const struct shard_chain *chain = reduction->chain;
	uint32_t all = chain->first[chain->nodes], kept = 0;
	model->first = arena_alloc(&model->arena, (size_t)chain->nodes + 1, sizeof *model->first);
	model->original = arena_alloc(&model->arena, all, sizeof *model->original);
	model->cost = arena_alloc(&model->arena, all, sizeof *model->cost);
	model->usage = arena_alloc(&model->arena, all, sizeof *model->usage);
	if (!model->first || !model->original || !model->cost || !model->usage)
		return NO_MEMORY;
	for (uint32_t node = 0; node < chain->nodes; node++) {
		for (uint32_t i = chain->first[node]; i < chain->first[node + 1]; i++)
			if (reduction->alive[i]) {
				model->original[kept] = i - chain->first[node];
				model->cost[kept] = chain->cost[i];
				model->usage[kept++] = chain->limit >= 0 ? chain->usage[i] : 0;
			}
		model->first[node + 1] = kept;
		if (kept == model->first[node])
			return fail(error, INFEASIBLE, "forbidden pairs leave node %u no strategy", node);
	}
	return OK;
}

static bool is_separable(const struct chain_table *table)
{
	if (table->rows == 1 || table->columns == 1)
		return true;
	for (uint32_t p = 0; p < table->rows; p++)
		for (uint32_t q = 0; q < table->columns; q++) {
			int64_t cost = table->pair[(size_t)p * table->columns + q];
			if (chain_blocked(cost) || cost != table->pair[(size_t)p * table->columns] + table->pair[q] - table->pair[0])
				return false;
		}
	return true;
}

static enum status keep_table(struct chain_model *model, uint32_t number)
{
	const struct shard_chain *chain = model->chain;
	const struct chain_edge *edge = &chain->edge[number];
	struct chain_table *table = &model->table[number];
	table->rows = chain_width(model, edge->from);
	table->columns = chain_width(model, edge->to);
	table->pair = arena_alloc(&model->arena, (size_t)table->rows * table->columns, sizeof *table->pair);
	if (!table->pair)
		return NO_MEMORY;
	for (uint32_t p = 0; p < table->rows; p++)
		for (uint32_t q = 0; q < table->columns; q++) {
			int64_t cost = pair_of(chain, edge, model->original[model->first[edge->from] + p], model->original[model->first[edge->to] + q]);
			table->pair[(size_t)p * table->columns + q] = cost < SHARD_FORBIDDEN ? cost : CHAIN_BLOCKED;
		}
	table->separable = is_separable(table);
	if (!table->separable)
		return OK;
	table->row = arena_alloc(&model->arena, table->rows, sizeof *table->row);
	table->column = arena_alloc(&model->arena, table->columns, sizeof *table->column);
	if (!table->row || !table->column)
		return NO_MEMORY;
	bool single = table->rows == 1;
	for (uint32_t p = 0; p < table->rows && !single; p++)
		table->row[p] = table->pair[(size_t)p * table->columns];
	for (uint32_t q = 0; q < table->columns; q++)
		table->column[q] = single ? table->pair[q] : table->columns == 1 ? 0 : table->pair[q] - table->pair[0];
	return OK;
}

static enum status find_edges(struct reduction *reduction)
{
	const struct shard_chain *chain = reduction->chain;
	uint32_t *row = arena_alloc(&reduction->arena, 2 * (size_t)chain->edges, sizeof *row);
	uint32_t *item = arena_alloc(&reduction->arena, 2 * (size_t)chain->edges, sizeof *item);
	if (!row || !item)
		return NO_MEMORY;
	for (uint32_t i = 0; i < chain->edges; i++) {
		row[2 * i] = chain->edge[i].from;
		row[2 * i + 1] = chain->edge[i].to;
		item[2 * i] = item[2 * i + 1] = i;
	}
	return csr_of_pairs(&reduction->arena, chain->nodes, 2 * chain->edges, row, item, &reduction->edges);
}

static enum status choose_alive(struct reduction *reduction, struct control *control)
{
	const struct shard_chain *chain = reduction->chain;
	reduction->alive = arena_alloc(&reduction->arena, chain->first[chain->nodes], sizeof *reduction->alive);
	if (!reduction->alive)
		return NO_MEMORY;
	for (uint32_t i = 0; i < chain->first[chain->nodes]; i++)
		reduction->alive[i] = chain->cost[i] < SHARD_FORBIDDEN;
	enum status status = find_edges(reduction);
	if (status == OK)
		status = prune(reduction, control);
	bool changed = true;
	for (int round = 0; round < ROUNDS && changed && status == OK; round++) {
		changed = false;
		for (uint32_t node = 0; node < chain->nodes; node++)
			changed |= drop_dominated(reduction, node);
		if (control_spend(control, chain->first[chain->nodes]))
			status = control_status(control);
	}
	return status;
}

enum status chain_model_reduce(struct chain_model *model, struct control *control, struct error *error)
{
	struct reduction reduction = { .model = model, .chain = model->chain };
	enum status status = choose_alive(&reduction, control);
	if (status == OK)
		status = keep_strategies(&reduction, error);
	arena_free(&reduction.arena);
	if (status != OK)
		return status;
	model->table = arena_alloc(&model->arena, model->chain->edges, sizeof *model->table);
	status = model->table ? OK : NO_MEMORY;
	for (uint32_t i = 0; i < model->chain->edges && status == OK; i++)
		status = keep_table(model, i);
	return status;
}
