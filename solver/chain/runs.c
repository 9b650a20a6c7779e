/* runs.c: see search.h. */
#include <string.h>

#include "search.h"

struct writing {
	const struct shard_chain *chain;
	struct chain_runs *runs;
	enum chain_steps steps;
	const int64_t *potential;
	uint32_t *twin; /* [nodes] problem node of the twin of the next copy's, as the first run sees it; the second run's
					   follows; NONE */
	uint32_t *tails; /* [nodes] steps that lead to it */
	size_t node_room[3], strategy_room[2], edge_room[2], table_room, pair_room, pairs_most;
};

static uint32_t run_count(const struct writing *writing, uint32_t node)
{
	return (uint32_t)(writing->runs->start[node + 1] - writing->runs->start[node]);
}

static uint32_t run_length(const struct writing *writing, uint32_t node, uint32_t run)
{
	const uint32_t *begin = writing->runs->begin + writing->runs->start[node];
	return (run + 1 == run_count(writing, node) ? chain_copies(writing->chain, node) : begin[run + 1]) - begin[run];
}

static bool is_cut(const struct writing *writing, uint32_t node)
{
	return writing->steps != STEPS_ALIKE && run_count(writing, node) < chain_copies(writing->chain, node);
}

/* ---- runs ---- */

/* The first copies of a node's runs into begin; how many there are. */
static uint32_t cut_runs(uint32_t count, uint32_t inner, uint32_t *begin)
{
	uint32_t runs = 0, copy = 0;
	while (copy < count) {
		bool single = count <= inner + 2 || copy == 0 || copy + 1 == count;
		begin[runs++] = copy;
		copy += single ? 1 : runs == 1 + inner ? count - 1 - copy : (count - copy) / 2;
	}
	return runs;
}

static enum status chain_runs_lay_out(struct writing *writing, uint32_t inner)
{
	const struct shard_chain *chain = writing->chain;
	struct chain_runs *runs = writing->runs;
	NEED(ROOM(&runs->arena, runs->start, chain->nodes + (size_t)1) &&
		ROOM(&runs->arena, runs->begin, (size_t)chain->nodes * (inner + (size_t)2)) &&
		ROOMS(&runs->arena, chain->nodes, runs->tie, writing->twin, writing->tails));
	runs->whole = true;
	FOR(node, chain->nodes) {
		uint32_t count = cut_runs(chain_copies(chain, node), inner, runs->begin + runs->start[node]);
		runs->start[node + 1] = runs->start[node] + count;
		runs->whole &= count == chain_copies(chain, node);
		runs->tie[node] = writing->twin[node] = NONE;
	}
	FOR(e, chain->edges)
		writing->tails[chain->edge[e].to] += chain->edge[e].step;
	return OK;
}

/* ---- nodes ---- */

static int64_t chain_runs_times(int64_t cost, uint32_t factor)
{
	return cost >= SHARD_FORBIDDEN ? cost : cost * (int64_t)factor;
}

/* A node without costs. */
static enum status chain_runs_add_node(struct writing *writing, uint32_t strategies)
{
	struct shard_problem *problem = &writing->runs->problem;
	size_t nodes = problem->nodes, sum = (nodes ? problem->first[nodes] : 0) + (size_t)strategies;
	if (sum >= NONE || nodes + 1 >= NONE)
		return LIMIT;
	if (!GROWN(problem->first, writing->node_room[0], nodes + 2) ||
		!GROWN(problem->begin, writing->node_room[1], nodes + 1) ||
		!GROWN(problem->end, writing->node_room[2], nodes + 1) ||
		!GROWN(problem->cost, writing->strategy_room[0], sum) ||
		!GROWN(problem->usage, writing->strategy_room[1], sum))
		return NO_MEMORY;
	problem->first[0] = 0;
	problem->first[nodes + 1] = (uint32_t)sum;
	problem->begin[nodes] = 0;
	problem->end[nodes] = 1;
	memset(problem->cost + sum - strategies, 0, strategies * sizeof *problem->cost);
	memset(problem->usage + sum - strategies, 0, strategies * sizeof *problem->usage);
	problem->nodes++;
	return OK;
}

static enum status chain_runs_add_run(struct writing *writing, uint32_t node, uint32_t run)
{
	const struct shard_chain *chain = writing->chain;
	struct shard_problem *problem = &writing->runs->problem;
	uint32_t length = run_length(writing, node, run);
	TRY(chain_runs_add_node(writing, chain_strategies(chain, node)));
	FOR(i, chain_strategies(chain, node)) {
		uint32_t from = chain->first[node] + i, to = problem->first[problem->nodes - 1] + i;
		problem->cost[to] = chain_runs_times(chain->cost[from], length);
		problem->usage[to] = chain->usage[from] * length;
		if (writing->potential && is_cut(writing, node) && writing->tails[node] > 0 && run > 0 &&
			problem->cost[to] < SHARD_FORBIDDEN)
			problem->cost[to] += writing->potential[from] * length;
	}
	return OK;
}

/* The twins of the next copy's node, of all runs but the last, and what ties them. */
static enum status add_twins(struct writing *writing, uint32_t node)
{
	const struct shard_chain *chain = writing->chain;
	struct shard_problem *problem = &writing->runs->problem;
	if (!is_cut(writing, node) || writing->tails[node] == 0)
		return OK;
	writing->twin[node] = problem->nodes;
	for (uint32_t run = 0; run + 1 < run_count(writing, node); run++) {
		TRY(chain_runs_add_node(writing, chain_strategies(chain, node)));
		FOR_WHILE(i, chain_strategies(chain, node), writing->potential)
			problem->cost[problem->first[problem->nodes - 1] + i] =
				-writing->potential[chain->first[node] + i] * run_length(writing, node, run);
	}
	if (writing->steps == STEPS_TIED) {
		writing->runs->tie[node] = problem->nodes;
		TRY(chain_runs_add_node(writing, chain_strategies(chain, node)));
	}
	return OK;
}

/* ---- edges ---- */

/* An edge without costs. */
static enum status chain_runs_add_edge(struct writing *writing, uint32_t from, uint32_t to)
{
	struct shard_problem *problem = &writing->runs->problem;
	size_t edges = problem->edges, size = (size_t)shard_strategies(problem, from) * shard_strategies(problem, to);
	size_t sum = (edges ? problem->table[edges] : 0) + size;
	if (edges + 1 >= NONE || sum > writing->pairs_most)
		return LIMIT;
	if (!GROWN(problem->from, writing->edge_room[0], edges + 1) ||
		!GROWN(problem->to, writing->edge_room[1], edges + 1) ||
		!GROWN(problem->table, writing->table_room, edges + 2) ||
		!GROWN(problem->pair, writing->pair_room, sum))
		return NO_MEMORY;
	problem->from[edges] = from;
	problem->to[edges] = to;
	problem->table[0] = 0;
	problem->table[edges + 1] = sum;
	problem->edges++;
	return OK;
}

static enum status copy_edge(
	struct writing *writing, const struct chain_edge *edge, uint32_t from, uint32_t to, uint32_t factor)
{
	struct shard_problem *problem = &writing->runs->problem;
	enum status status = factor > 0 ? chain_runs_add_edge(writing, from, to) : OK;
	if (factor == 0 || status != OK)
		return status;
	int64_t *pair = problem->pair + problem->table[problem->edges - 1];
	size_t size = problem->table[problem->edges] - problem->table[problem->edges - 1];
	FOR_SIZE(i, size)
		pair[i] = chain_runs_times(writing->chain->pair[edge->table + i], factor);
	return OK;
}

/* The problem node of an end, in the k-th of an edge's runs. */
static uint32_t end_at(const struct writing *writing, uint32_t node, uint8_t where, uint32_t k)
{
	return (uint32_t)writing->runs->start[node] +
		(where == CHAIN_EVERY ? k
		: where == CHAIN_LAST ? run_count(writing, node) - 1
		: 0);
}

/* From run to run, or to twins. */
static enum status add_steps(struct writing *writing, const struct chain_edge *edge)
{
	enum status status = OK;
	uint32_t runs = run_count(writing, edge->from);
	FOR_WHILE(k, runs, status == OK) {
		uint32_t from = end_at(writing, edge->from, CHAIN_EVERY, k), to = end_at(writing, edge->to, CHAIN_EVERY, k);
		uint32_t length = run_length(writing, edge->from, k);
		if (is_cut(writing, edge->from)) {
			status = k + 1 < runs ? copy_edge(writing, edge, from, writing->twin[edge->to] + k, length) : OK;
			continue;
		}
		status = copy_edge(writing, edge, from, to, length - 1);
		if (status == OK && k + 1 < runs)
			status = copy_edge(writing, edge, from, to + 1, 1);
	}
	return status;
}

static enum status chain_runs_add_edges(struct writing *writing, const struct chain_edge *edge)
{
	uint32_t node = edge->from_where == CHAIN_EVERY ? edge->from : edge->to;
	bool every = edge->from_where == CHAIN_EVERY || edge->to_where == CHAIN_EVERY;
	uint32_t runs = every ? run_count(writing, node) : 1;
	if (edge->step)
		return add_steps(writing, edge);
	FOR(k, runs)
		TRY(copy_edge(writing, edge, end_at(writing, edge->from, edge->from_where, k),
			end_at(writing, edge->to, edge->to_where, k), every ? run_length(writing, node, k) : 1));
	return OK;
}

static int64_t range_of(const int64_t *cost, size_t count)
{
	int64_t low = INT64_MAX, high = INT64_MIN;
	FOR_SIZE(i, count)
		if (cost[i] < SHARD_FORBIDDEN) {
			low = SMALLER(cost[i], low);
			high = LARGER(cost[i], high);
		}
	return high > low ? high - low : 0;
}

/* What all costs at a node may differ by, at most. */
static void find_ranges(const struct shard_problem *problem, int64_t *range)
{
	FOR(node, problem->nodes)
		range[node] = 1 + range_of(problem->cost + problem->first[node], shard_strategies(problem, node));
	FOR(edge, problem->edges) {
		int64_t more = range_of(problem->pair + problem->table[edge], problem->table[edge + 1] - problem->table[edge]);
		range[problem->from[edge]] += more;
		range[problem->to[edge]] += problem->from[edge] == problem->to[edge] ? 0 : more;
	}
}

/* Ties node and twin of the inner run to a third: all three alike, or dearer than anything they could gain. */
static enum status tie_twin(struct writing *writing, uint32_t node, const int64_t *range)
{
	struct shard_problem *problem = &writing->runs->problem;
	uint32_t tie = writing->runs->tie[node],
			 ends[] = { (uint32_t)writing->runs->start[node] + 1, writing->twin[node] + 1 };
	enum status status = OK;
	for (int side = 0; side < 2 && status == OK; side++) {
		uint32_t count = shard_strategies(problem, tie);
		status = chain_runs_add_edge(writing, ends[side], tie);
		int64_t *pair = status == OK ? problem->pair + problem->table[problem->edges - 1] : NULL;
		FOR_WHILE(p, count, pair)
			FOR(q, count)
				pair[(size_t)p * count + q] = p == q ? 0 : range[ends[side]];
	}
	return status;
}

static enum status tie_twins(struct writing *writing)
{
	const struct chain_runs *runs = writing->runs;
	HELD int64_t *MAKE(range, runs->problem.nodes);
	NEED(range);
	find_ranges(&runs->problem, range);
	FOR(node, writing->chain->nodes)
		if (runs->tie[node] != NONE)
			TRY(tie_twin(writing, node, range));
	return OK;
}

enum status chain_runs_write(const struct shard_chain *chain, enum chain_steps steps, uint32_t inner,
	const int64_t *potential, size_t pairs_most, struct chain_runs *runs)
{
	struct writing writing = {
		.chain = chain, .runs = runs, .steps = steps, .potential = potential, .pairs_most = pairs_most
	};
	*runs = (struct chain_runs) { .problem = { .limit = chain->limit } };
	TRY(chain_runs_lay_out(&writing, inner));
	FOR(node, chain->nodes)
		FOR(run, run_count(&writing, node))
			TRY(chain_runs_add_run(&writing, node, run));
	FOR(node, chain->nodes)
		TRY(add_twins(&writing, node));
	FOR(e, chain->edges)
		TRY(chain_runs_add_edges(&writing, &chain->edge[e]));
	return steps == STEPS_TIED ? tie_twins(&writing) : OK;
}

void chain_runs_free(struct chain_runs *runs)
{
	shard_problem_free(&runs->problem);
	arena_free(&runs->arena);
	*runs = (struct chain_runs) { 0 };
}
