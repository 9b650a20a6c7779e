/* problem.c: looks a sharding problem over before anything is computed from it, and frees what belongs to one. */
#include "problems.h"

/* Adds a magnitude; false when the sum is past SHARD_COST_MAX. */
static bool problems_problem_add_magnitude(int64_t *sum, int64_t value)
{
	*sum += value < 0 ? -value : value;
	return *sum <= SHARD_COST_MAX;
}

static enum status problems_problem_node_valid(
	const struct shard_problem *problem, uint32_t node, int64_t *costs, int64_t *bytes, struct error *error)
{
	int64_t dearest = 0, largest = 0;
	if (shard_strategies(problem, node) == 0)
		return refuse(error, "node %u has no strategy", node);
	FOR_SPAN(i, problem->first, node) {
		int64_t cost = problem->cost[i], usage = problem->usage[i];
		if (cost <= -SHARD_FORBIDDEN)
			return refuse(error, "node %u has a cost below -10^17", node);
		if (usage < 0 || usage > BYTES_MAX)
			return refuse(error, "node %u has a usage below 0 or above 2^60", node);
		if (cost < SHARD_FORBIDDEN && (cost < 0 ? -cost : cost) > dearest)
			dearest = cost < 0 ? -cost : cost;
		if (usage > largest)
			largest = usage;
	}
	*bytes += largest;
	if (!problems_problem_add_magnitude(costs, dearest) || *bytes > BYTES_MAX)
		return refuse(error, "costs or usages up to node %u sum to too much", node);
	return OK;
}

static enum status problems_problem_edge_valid(
	const struct shard_problem *problem, uint32_t edge, int64_t *costs, struct error *error)
{
	size_t rows = shard_strategies(problem, problem->from[edge]), columns = shard_strategies(problem, problem->to[edge]);
	int64_t dearest = 0;
	if (problem->table[edge + 1] - problem->table[edge] != rows * columns)
		return refuse(error, "edge %u has %zu costs, its nodes' strategies make %zu pairs", edge,
			problem->table[edge + 1] - problem->table[edge], rows * columns);
	for (size_t i = problem->table[edge]; i < problem->table[edge + 1]; i++) {
		int64_t cost = problem->pair[i];
		if (cost <= -SHARD_FORBIDDEN)
			return refuse(error, "edge %u has a cost below -10^17", edge);
		if (cost < SHARD_FORBIDDEN && (cost < 0 ? -cost : cost) > dearest)
			dearest = cost < 0 ? -cost : cost;
	}
	return problems_problem_add_magnitude(costs, dearest)
		? OK
		: refuse(error, "costs up to edge %u sum to too much", edge);
}

enum status shard_problem_valid(const struct shard_problem *problem, struct error *error)
{
	int64_t costs = 0, bytes = 0;
	FOR(node, problem->nodes)
		TRY(problems_problem_node_valid(problem, node, &costs, &bytes, error));
	FOR(edge, problem->edges)
		TRY(problems_problem_edge_valid(problem, edge, &costs, error));
	return OK;
}

void shard_problem_free(struct shard_problem *problem)
{
	void *const blocks[] = { problem->name, problem->first, problem->cost, problem->usage, problem->begin, problem->end,
				 problem->from, problem->to, problem->table, problem->pair };
	FOR(i, COUNT_OF(blocks))
		mem_free(blocks[i]);
	*problem = (struct shard_problem) { 0 };
}

void shard_certificate_free(struct shard_certificate *certificate)
{
	mem_free(certificate->moment);
	mem_free(certificate->multiplier);
	mem_free(certificate->start);
	mem_free(certificate->message);
	*certificate = (struct shard_certificate) { 0 };
}

void shard_plan_free(struct shard_plan *plan)
{
	mem_free(plan->choice);
	shard_certificate_free(&plan->certificate);
	*plan = (struct shard_plan) { 0 };
}
