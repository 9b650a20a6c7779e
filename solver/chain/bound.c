/* bound.c: the bound that a price of usage is, verified with every copy written out. Shares no code with the solver.
 *
 * For any alpha > 0 and beta >= 0, no plan within the limit costs less than (W - beta * limit) / alpha, where W is the
 * least of alpha * cost + beta * usage of all plans. W is found by eliminating one copy of a node after the other: the
 * sum of all that knows it, least over its strategies, becomes a table over its neighbours. All of it in integers,
 * counted from the least of every node and edge. */
#include <string.h>

#include "chain.h"
#include "solver/base/sort.h"

#define BLOCKED (INT64_C(1) << 61)
#define WEIGHT_MAX (INT64_C(1) << 60)
#define SCOPE_MAX 24
#define TABLE_MOST ((size_t)1 << 25)
#define VARS_MOST 150000 /* nodes, all copies written out */

__extension__ typedef __int128 wide;

/* A table over variables, the last one's value runs fastest. */
struct table {
	uint32_t count, var[SCOPE_MAX];
	int64_t *weight;
	size_t size;
	bool gone;
};

struct entry { uint32_t table, next; };

struct auditing {
	const struct shard_chain *chain;
	int64_t alpha, beta;
	size_t *start; /* [nodes + 1] node's copy k is variable start[node] + k */
	uint32_t vars, *node_of;
	struct table *table;
	uint32_t tables;
	size_t table_room, entry_room;
	struct entry *entry; /* lists of the tables that know a variable */
	uint32_t entries, *first;
	struct order_heap queue;
	wide base;      /* left out of all tables */
	int64_t spread; /* no sum of tables' entries is above */
	struct arena arena;
};

static uint32_t chain_bound_width(const struct auditing *auditing, uint32_t var)
{
	uint32_t node = auditing->node_of[var];
	return auditing->chain->first[node + 1] - auditing->chain->first[node];
}

static bool chain_bound_note(struct auditing *auditing, uint32_t var, uint32_t table)
{
	if (!GROWN(auditing->entry, auditing->entry_room, auditing->entries + 1))
		return false;
	auditing->entry[auditing->entries] = (struct entry) { table, auditing->first[var] };
	auditing->first[var] = auditing->entries++;
	return true;
}

/* A new table over these variables, of zeros. */
static enum status chain_bound_add_table(
	struct auditing *auditing, const uint32_t *var, uint32_t count, struct table **added)
{
	size_t size = 1;
	FOR(i, count)
		if ((size *= chain_bound_width(auditing, var[i])) > TABLE_MOST)
			return LIMIT;
	NEED(GROWN(auditing->table, auditing->table_room, auditing->tables + 1));
	struct table *table = &auditing->table[auditing->tables];
	*table = (struct table) { .count = count, .size = size, .weight = mem_alloc(size, sizeof *table->weight) };
	COPY(table->var, var, count);
	NEED(table->weight);
	FOR(i, count)
		if (!chain_bound_note(auditing, var[i], auditing->tables)) {
			mem_free(table->weight);
			return NO_MEMORY;
		}
	auditing->tables++;
	*added = table;
	return OK;
}

/* Counts a table from its least; false where nothing in it is allowed. */
static bool chain_bound_settle(struct auditing *auditing, struct table *table)
{
	int64_t least = BLOCKED, most = 0;
	FOR_SIZE(i, table->size)
		least = SMALLER(table->weight[i], least);
	FOR_SIZE(i, table->size)
		if (table->weight[i] < BLOCKED) {
			table->weight[i] -= least;
			most = LARGER(table->weight[i], most);
		}
	auditing->base += least;
	auditing->spread = auditing->spread > WEIGHT_MAX - most ? WEIGHT_MAX + 1 : auditing->spread + most;
	return least < BLOCKED;
}

/* ---- what the chain means ---- */

/* A new table's entries from costs and usages (NULL: none), every stride-th, counted from the least. */
static enum status chain_bound_fill(
	struct auditing *auditing, struct table *table, const int64_t *cost, const int64_t *usage, size_t stride)
{
	wide least = 0;
	bool any = false;
	FOR_SIZE(i, table->size) {
		wide weight = (wide)auditing->alpha * cost[i * stride] + (usage ? (wide)auditing->beta * usage[i * stride] : 0);
		if (cost[i * stride] < SHARD_FORBIDDEN && (!any || weight < least)) {
			least = weight;
			any = true;
		}
	}
	FOR_SIZE(i, table->size) {
		wide weight = (wide)auditing->alpha * cost[i * stride] +
			(usage ? (wide)auditing->beta * usage[i * stride] : 0) - least;
		if (cost[i * stride] < SHARD_FORBIDDEN && weight > WEIGHT_MAX)
			return LIMIT;
		table->weight[i] = cost[i * stride] < SHARD_FORBIDDEN ? (int64_t)weight : BLOCKED;
	}
	auditing->base += least;
	return any && chain_bound_settle(auditing, table) ? OK : INFEASIBLE;
}

static enum status chain_bound_add_node(struct auditing *auditing, uint32_t var)
{
	const struct shard_chain *chain = auditing->chain;
	uint32_t first = chain->first[auditing->node_of[var]];
	struct table *table;
	TRY(chain_bound_add_table(auditing, &var, 1, &table));
	return chain_bound_fill(auditing, table, chain->cost + first, chain->limit >= 0 ? chain->usage + first : NULL, 1);
}

static enum status chain_bound_add_pair(
	struct auditing *auditing, const struct chain_edge *edge, uint32_t from, uint32_t to)
{
	uint32_t both[] = { from, to };
	struct table *table;
	TRY(chain_bound_add_table(auditing, both, from == to ? 1 : 2, &table));
	return chain_bound_fill(auditing, table, auditing->chain->pair + edge->table, NULL,
		from == to ? chain_bound_width(auditing, to) + 1 : 1);
}

static uint32_t chain_bound_copies_of(const struct auditing *auditing, uint32_t node)
{
	return (uint32_t)(auditing->start[node + 1] - auditing->start[node]);
}

/* The copy that an end means, where it is not every one. */
static uint32_t copy_at(const struct auditing *auditing, uint32_t node, uint8_t where)
{
	return where == CHAIN_LAST ? chain_bound_copies_of(auditing, node) - 1 : 0;
}

static enum status chain_bound_add_edge(struct auditing *auditing, const struct chain_edge *edge)
{
	bool every_from = edge->from_where == CHAIN_EVERY, every_to = edge->to_where == CHAIN_EVERY;
	uint32_t times = every_from ? chain_bound_copies_of(auditing, edge->from)
		: every_to ? chain_bound_copies_of(auditing, edge->to)
		: 1;
	for (uint32_t k = 0; k + edge->step < times; k++) {
		uint32_t from = every_from ? k : copy_at(auditing, edge->from, edge->from_where);
		uint32_t to = every_to ? k + edge->step : copy_at(auditing, edge->to, edge->to_where);
		TRY(chain_bound_add_pair(
			auditing, edge, (uint32_t)auditing->start[edge->from] + from, (uint32_t)auditing->start[edge->to] + to));
	}
	return OK;
}

static enum status chain_bound_begin(struct auditing *auditing)
{
	const struct shard_chain *chain = auditing->chain;
	NEED(ROOM(&auditing->arena, auditing->start, chain->nodes + (size_t)1));
	FOR(node, chain->nodes)
		auditing->start[node + 1] = auditing->start[node] +
			(chain->segment[node] == NONE ? 1 : chain->copies[chain->segment[node]]);
	if (auditing->start[chain->nodes] > VARS_MOST)
		return LIMIT;
	auditing->vars = (uint32_t)auditing->start[chain->nodes];
	TRY(ROOMS(&auditing->arena, auditing->vars, auditing->node_of, auditing->first)
			? order_heap_init(&auditing->queue, auditing->vars, &auditing->arena) : NO_MEMORY);
	FILL_NONE(auditing->first, auditing->vars);
	FOR(node, chain->nodes)
		for (size_t var = auditing->start[node]; var < auditing->start[node + 1]; var++)
			auditing->node_of[var] = node;
	FOR(var, auditing->vars)
		TRY(chain_bound_add_node(auditing, var));
	FOR(e, chain->edges)
		TRY(chain_bound_add_edge(auditing, &chain->edge[e]));
	return auditing->spread > WEIGHT_MAX ? LIMIT : OK;
}

/* ---- elimination ---- */

/* The variables that share a table with this one, itself last. LIMIT: too many. */
static enum status find_scope(
	const struct auditing *auditing, uint32_t var, uint32_t scope[SCOPE_MAX + 1], uint32_t *count)
{
	*count = 0;
	for (uint32_t i = auditing->first[var]; i != NONE; i = auditing->entry[i].next) {
		const struct table *table = &auditing->table[auditing->entry[i].table];
		FOR_WHILE(j, table->count, !table->gone) {
			uint32_t k = 0;
			while (k < *count && scope[k] != table->var[j])
				k++;
			if (k < *count || table->var[j] == var)
				continue;
			if (*count == SCOPE_MAX)
				return LIMIT;
			scope[(*count)++] = table->var[j];
		}
	}
	scope[*count] = var;
	return OK;
}

static void chain_bound_weigh(struct auditing *auditing, uint32_t var)
{
	uint32_t scope[SCOPE_MAX + 1], count;
	int64_t size = 1;
	bool fits = find_scope(auditing, var, scope, &count) == OK;
	for (uint32_t i = 0; fits && i <= count; i++)
		size = size > INT32_MAX ? size : size * chain_bound_width(auditing, scope[i]);
	order_heap_put(&auditing->queue, var, fits ? size : INT64_MAX / 2, var);
}

/* sum += table, both over the scope's values. */
static void add_up(const struct auditing *auditing, const struct table *table, const uint32_t *scope, uint32_t count,
	int64_t *sum, size_t size)
{
	size_t stride[SCOPE_MAX + 1] = { 0 }, step = 1, at = 0;
	uint32_t digit[SCOPE_MAX + 1] = { 0 };
	for (uint32_t j = table->count; j-- > 0; step *= chain_bound_width(auditing, table->var[j]))
		FOR(i, count)
			if (scope[i] == table->var[j])
				stride[i] = step;
	FOR_SIZE(entry, size) {
		sum[entry] = sum[entry] >= BLOCKED || table->weight[at] >= BLOCKED ? BLOCKED : sum[entry] + table->weight[at];
		FOR_DOWN(i, count) {
			at += stride[i];
			if (++digit[i] < chain_bound_width(auditing, scope[i]))
				break;
			at -= stride[i] * digit[i];
			digit[i] = 0;
		}
	}
}

static enum status chain_bound_eliminate(struct auditing *auditing, uint32_t var)
{
	uint32_t scope[SCOPE_MAX + 1], count, domain = chain_bound_width(auditing, var);
	enum status status = find_scope(auditing, var, scope, &count);
	struct table *left = NULL;
	size_t rows = 1;
	FOR_WHILE(i, count, status == OK)
		if ((rows *= chain_bound_width(auditing, scope[i])) > TABLE_MOST / domain)
			status = LIMIT;
	int64_t *sum = status == OK ? mem_alloc(rows * domain, sizeof *sum) : NULL;
	if (status != OK || !sum)
		return status == OK ? NO_MEMORY : status;
	for (uint32_t i = auditing->first[var]; i != NONE; i = auditing->entry[i].next) {
		struct table *table = &auditing->table[auditing->entry[i].table];
		if (table->gone)
			continue;
		add_up(auditing, table, scope, count + 1, sum, rows * domain);
		table->gone = true;
		mem_free(table->weight);
		table->weight = NULL;
	}
	status = chain_bound_add_table(auditing, scope, count, &left);
	for (size_t row = 0; row < rows && status == OK; row++) {
		left->weight[row] = BLOCKED;
		FOR(i, domain)
			left->weight[row] = SMALLER(sum[row * domain + i], left->weight[row]);
	}
	mem_free(sum);
	if (status == OK && !chain_bound_settle(auditing, left))
		status = INFEASIBLE;
	FOR_WHILE(i, count, status == OK)
		chain_bound_weigh(auditing, scope[i]);
	return status;
}

enum status shard_chain_bound(
	const struct shard_chain *chain, int64_t alpha, int64_t beta, int64_t *bound, struct error *error)
{
	struct auditing auditing = { .chain = chain, .alpha = alpha, .beta = beta };
	if (alpha < 1 || beta < 0 || (beta > 0 && chain->limit < 0))
		return refuse(error, "a price needs alpha > 0, beta >= 0, and no beta without a limit");
	enum status status = chain_bound_begin(&auditing);
	FOR_WHILE(var, auditing.vars, status == OK)
		chain_bound_weigh(&auditing, var);
	FOR_WHILE(i, auditing.vars, status == OK) {
		uint32_t var = order_heap_top(&auditing.queue);
		order_heap_remove(&auditing.queue, var);
		auditing.spread = 0; /* looked at once, of what the chain says */
		status = chain_bound_eliminate(&auditing, var);
	}
	FOR(i, auditing.tables)
		mem_free(auditing.table[i].weight);
	mem_free(auditing.table);
	mem_free(auditing.entry);
	arena_free(&auditing.arena);
	if (status != OK)
		return fail(error, status, "%s",
			status == INFEASIBLE ? "forbidden pairs leave no choice"
			: status == LIMIT ? "tables are too large"
			: status_text(status));
	wide sum = auditing.base - (chain->limit >= 0 ? (wide)beta * chain->limit : 0);
	wide whole = sum / alpha + (sum % alpha > 0);
	*bound = whole < -CHAIN_COST_MAX ? -CHAIN_COST_MAX : (int64_t)whole;
	return OK;
}
