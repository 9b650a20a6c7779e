/* shard_check.c: re-sums a choice, and verifies a dual bound in integers. Shares no code with the solver.
 *
 * Lagrangian duality and reparametrisation: for any multipliers >= 0 and any messages, the sum of the least reduced
 * cost of every node and of every edge, less multiplier times limit, is below the cost of every choice within the
 * limit. Strategies without an allowed partner over some edge take part in no choice and are left out first.
 */
#include <stdlib.h>
#include <string.h>

#include "shard.h"

__extension__ typedef __int128 wide;

#define SHIFT_MAX 40

/* ---- a choice -------------------------------------------------------------------------------------------- */

struct change { int64_t time, bytes; };

static int by_time(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* The largest sum of usages at a moment: frees come before allocations of the same time. */
static enum status find_peak(const struct shard_problem *problem, const uint32_t *choice, int64_t *peak)
{
	size_t count = 0;
	struct change *change = mem_alloc(2 * (size_t)problem->nodes, sizeof *change);
	int64_t live = 0;
	if (!change)
		return NO_MEMORY;
	for (uint32_t node = 0; node < problem->nodes; node++) {
		int64_t usage = problem->usage[problem->first[node] + choice[node]];
		if (problem->begin[node] >= problem->end[node])
			continue;
		change[count++] = (struct change) { problem->begin[node], usage };
		change[count++] = (struct change) { problem->end[node], -usage };
	}
	qsort(change, count, sizeof *change, by_time);
	*peak = 0;
	for (size_t i = 0; i < count; i++) {
		live += change[i].bytes;
		if (live > *peak)
			*peak = live;
	}
	mem_free(change);
	return OK;
}

enum status shard_evaluate(const struct shard_problem *problem, const uint32_t *choice, int64_t *cost, int64_t *peak,
	struct error *error)
{
	*cost = 0;
	for (uint32_t node = 0; node < problem->nodes; node++) {
		if (choice[node] >= shard_strategies(problem, node))
			return fail(error, BAD_INPUT, "node %u has no strategy %u", node, choice[node]);
		int64_t part = problem->cost[problem->first[node] + choice[node]];
		if (part >= SHARD_FORBIDDEN)
			return fail(error, BAD_INPUT, "strategy %u of node %u is forbidden", choice[node], node);
		*cost += part;
	}
	for (uint32_t edge = 0; edge < problem->edges; edge++) {
		uint32_t from = problem->from[edge], to = problem->to[edge];
		int64_t part = problem->pair[problem->table[edge] + (size_t)choice[from] * shard_strategies(problem, to) + choice[to]];
		if (part >= SHARD_FORBIDDEN)
			return fail(error, BAD_INPUT, "strategies %u of node %u and %u of node %u are forbidden together", choice[from],
				from, choice[to], to);
		*cost += part;
	}
	if (find_peak(problem, choice, peak) != OK)
		return fail(error, NO_MEMORY, "out of memory");
	if (problem->limit >= 0 && *peak > problem->limit)
		return fail(error, BAD_INPUT, "%lld bytes at the peak, above the limit of %lld", (long long)*peak, (long long)problem->limit);
	return OK;
}

/* ---- a bound ------------------------------------------------------------------------------------------------ */

struct link { uint32_t low, high, edge; };   /* an edge under its ends, the lower one first */

struct audit {
	const struct shard_problem *problem;
	const struct shard_certificate *certificate;
	struct link *link;         /* edges between two different nodes, those between the same two next to each other */
	uint32_t links;
	bool *alive;               /* strategy -> it may take part in a choice */
	wide *reduced;             /* strategy -> its cost after multipliers and messages */
	int64_t *sum;              /* pairs of one group's nodes; SHARD_FORBIDDEN where they are forbidden */
};

static int by_ends(const void *left, const void *right)
{
	const struct link *a = left, *b = right;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return (a->edge > b->edge) - (a->edge < b->edge);
}

static void audit_free(struct audit *audit)
{
	mem_free(audit->link);
	mem_free(audit->alive);
	mem_free(audit->reduced);
	mem_free(audit->sum);
}

static enum status audit_begin(struct audit *audit)
{
	const struct shard_problem *problem = audit->problem;
	uint32_t strategies = problem->first[problem->nodes];
	size_t largest = 1;
	for (uint32_t edge = 0; edge < problem->edges; edge++)
		if (problem->table[edge + 1] - problem->table[edge] > largest)
			largest = problem->table[edge + 1] - problem->table[edge];
	audit->link = mem_alloc(problem->edges, sizeof *audit->link);
	audit->alive = mem_alloc(strategies, sizeof *audit->alive);
	audit->reduced = mem_alloc(strategies, sizeof *audit->reduced);
	audit->sum = mem_alloc(largest, sizeof *audit->sum);
	if (!audit->link || !audit->alive || !audit->reduced || !audit->sum)
		return NO_MEMORY;
	for (uint32_t i = 0; i < strategies; i++) {
		audit->alive[i] = problem->cost[i] < SHARD_FORBIDDEN;
		audit->reduced[i] = (wide)problem->cost[i] * ((wide)1 << audit->certificate->shift);
	}
	for (uint32_t edge = 0; edge < problem->edges; edge++) {
		uint32_t from = problem->from[edge], to = problem->to[edge];
		if (from != to)
			audit->link[audit->links++] = (struct link) { from < to ? from : to, from < to ? to : from, edge };
	}
	qsort(audit->link, audit->links, sizeof *audit->link, by_ends);
	return OK;
}

/* An edge from a node to itself is a cost of the node. */
static void add_loops(struct audit *audit)
{
	const struct shard_problem *problem = audit->problem;
	for (uint32_t edge = 0; edge < problem->edges; edge++) {
		uint32_t node = problem->from[edge], width = shard_strategies(problem, node);
		for (uint32_t i = 0; i < width && node == problem->to[edge]; i++) {
			int64_t cost = problem->pair[problem->table[edge] + (size_t)i * width + i];
			audit->alive[problem->first[node] + i] &= cost < SHARD_FORBIDDEN;
			audit->reduced[problem->first[node] + i] += (wide)cost * ((wide)1 << audit->certificate->shift);
		}
	}
}

/* Sums the costs of the edges that have the ends of link i, as the first of them is directed; returns the next group's. */
static uint32_t sum_group(struct audit *audit, uint32_t i)
{
	const struct shard_problem *problem = audit->problem;
	const struct link *link = &audit->link[i];
	uint32_t from = problem->from[link->edge], rows = shard_strategies(problem, from);
	uint32_t columns = shard_strategies(problem, problem->to[link->edge]);
	memset(audit->sum, 0, (size_t)rows * columns * sizeof *audit->sum);
	for (; i < audit->links && audit->link[i].low == link->low && audit->link[i].high == link->high; i++) {
		const int64_t *pair = problem->pair + problem->table[audit->link[i].edge];
		bool along = problem->from[audit->link[i].edge] == from;
		for (uint32_t p = 0; p < rows; p++)
			for (uint32_t q = 0; q < columns; q++) {
				int64_t *sum = &audit->sum[(size_t)p * columns + q];
				int64_t cost = pair[along ? (size_t)p * columns + q : (size_t)q * rows + p];
				*sum = cost >= SHARD_FORBIDDEN || *sum == SHARD_FORBIDDEN ? SHARD_FORBIDDEN : *sum + cost;
			}
	}
	return i;
}

/* Kills strategies that have no partner over the summed edge. */
static bool prune(struct audit *audit, uint32_t edge)
{
	const struct shard_problem *problem = audit->problem;
	uint32_t from = problem->from[edge], to = problem->to[edge];
	uint32_t rows = shard_strategies(problem, from), columns = shard_strategies(problem, to);
	bool *row = audit->alive + problem->first[from], *column = audit->alive + problem->first[to], changed = false;
	for (uint32_t p = 0; p < rows; p++) {
		bool partner = false;
		for (uint32_t q = 0; q < columns && row[p] && !partner; q++)
			partner = column[q] && audit->sum[(size_t)p * columns + q] < SHARD_FORBIDDEN;
		changed |= row[p] && !partner;
		row[p] = partner;
	}
	for (uint32_t q = 0; q < columns; q++) {
		bool partner = false;
		for (uint32_t p = 0; p < rows && column[q] && !partner; p++)
			partner = row[p] && audit->sum[(size_t)p * columns + q] < SHARD_FORBIDDEN;
		changed |= column[q] && !partner;
		column[q] = partner;
	}
	return changed;
}

static void prune_all(struct audit *audit)
{
	bool changed = true;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < audit->links;) {
			uint32_t edge = audit->link[i].edge;
			i = sum_group(audit, i);
			changed |= prune(audit, edge);
		}
	}
}

/* Multiplier times usage, for every moment at which a node is alive. */
static enum status add_multipliers(struct audit *audit, wide *bound)
{
	const struct shard_problem *problem = audit->problem;
	const struct shard_certificate *certificate = audit->certificate;
	wide *before = mem_alloc((size_t)certificate->moments + 1, sizeof *before);
	if (!before)
		return NO_MEMORY;
	for (uint32_t i = 0; i < certificate->moments; i++)
		before[i + 1] = before[i] + certificate->multiplier[i];
	for (uint32_t node = 0; node < problem->nodes; node++) {
		uint32_t from = 0, to = certificate->moments, last, middle;
		while (from < to)
			certificate->moment[middle = (from + to) / 2] < problem->begin[node] ? (from = middle + 1) : (to = middle);
		for (last = from, to = certificate->moments; last < to;)
			certificate->moment[middle = (last + to) / 2] < problem->end[node] ? (last = middle + 1) : (to = middle);
		for (uint32_t i = problem->first[node]; i < problem->first[node + 1] && last > from; i++)
			audit->reduced[i] += (before[last] - before[from]) * problem->usage[i];
	}
	*bound -= before[certificate->moments] * (wide)problem->limit;
	mem_free(before);
	return OK;
}

/* The least reduced cost of a group of edges; its messages go to its nodes. */
static enum status add_group(struct audit *audit, uint32_t edge, wide *bound, struct error *error)
{
	const struct shard_problem *problem = audit->problem;
	const struct shard_certificate *certificate = audit->certificate;
	uint32_t from = problem->from[edge], to = problem->to[edge];
	uint32_t rows = shard_strategies(problem, from), columns = shard_strategies(problem, to);
	const int64_t *message = certificate->message + certificate->start[edge];
	wide least = 0;
	bool any = false;
	if (certificate->start[edge + 1] - certificate->start[edge] != (size_t)rows + columns)
		return fail(error, BAD_INPUT, "edge %u has the wrong number of messages", edge);
	for (uint32_t p = 0; p < rows; p++)
		for (uint32_t q = 0; q < columns; q++) {
			int64_t cost = audit->sum[(size_t)p * columns + q];
			if (cost == SHARD_FORBIDDEN || !audit->alive[problem->first[from] + p] || !audit->alive[problem->first[to] + q])
				continue;
			wide reduced = (wide)cost * ((wide)1 << certificate->shift) - message[p] - message[rows + q];
			least = any && least < reduced ? least : reduced;
			any = true;
		}
	for (uint32_t p = 0; p < rows; p++)
		audit->reduced[problem->first[from] + p] += message[p];
	for (uint32_t q = 0; q < columns; q++)
		audit->reduced[problem->first[to] + q] += message[rows + q];
	*bound += least;
	return OK;
}

static enum status add_edges(struct audit *audit, wide *bound, struct error *error)
{
	enum status status = OK;
	for (uint32_t i = 0; i < audit->links && status == OK;) {
		uint32_t edge = audit->link[i].edge;
		i = sum_group(audit, i);
		status = add_group(audit, edge, bound, error);
	}
	return status;
}

static enum status add_nodes(const struct audit *audit, wide *bound, struct error *error)
{
	const struct shard_problem *problem = audit->problem;
	for (uint32_t node = 0; node < problem->nodes; node++) {
		wide least = 0;
		bool any = false;
		for (uint32_t i = problem->first[node]; i < problem->first[node + 1]; i++) {
			if (!audit->alive[i])
				continue;
			least = any && least < audit->reduced[i] ? least : audit->reduced[i];
			any = true;
		}
		if (!any)
			return fail(error, INFEASIBLE, "forbidden pairs leave node %u no strategy", node);
		*bound += least;
	}
	return OK;
}

/* Do multipliers times bytes stay far from 2^127? */
static bool multipliers_fit(const struct shard_problem *problem, const struct shard_certificate *certificate)
{
	wide sum = 0, bytes = problem->limit;
	for (uint32_t i = 0; i < certificate->moments; i++)
		sum += certificate->multiplier[i];
	for (uint32_t i = 0; i < problem->first[problem->nodes]; i++)
		bytes = problem->usage[i] > bytes ? problem->usage[i] : bytes;
	return bytes <= 0 || sum <= ((wide)1 << 124) / bytes / (problem->nodes + (wide)1);
}

static enum status certificate_valid(const struct shard_problem *problem, const struct shard_certificate *certificate,
	struct error *error)
{
	if (certificate->shift > SHIFT_MAX)
		return fail(error, BAD_INPUT, "the certificate's unit is too small");
	if (certificate->moments && problem->limit < 0)
		return fail(error, BAD_INPUT, "multipliers without a limit");
	for (uint32_t i = 0; i < certificate->moments; i++)
		if (certificate->multiplier[i] < 0 || (i && certificate->moment[i] <= certificate->moment[i - 1]))
			return fail(error, BAD_INPUT, "multiplier %u is negative or its moment not after the one before", i);
	if (!multipliers_fit(problem, certificate))
		return fail(error, BAD_INPUT, "the multipliers are too large");
	return OK;
}

enum status shard_bound(const struct shard_problem *problem, const struct shard_certificate *certificate, int64_t *bound,
	struct error *error)
{
	struct audit audit = { .problem = problem, .certificate = certificate };
	wide sum = 0;
	enum status status = certificate_valid(problem, certificate, error);
	if (status == OK)
		status = audit_begin(&audit);
	if (status == OK) {
		add_loops(&audit);
		prune_all(&audit);
		status = add_multipliers(&audit, &sum);
	}
	if (status == OK)
		status = add_edges(&audit, &sum, error);
	if (status == OK)
		status = add_nodes(&audit, &sum, error);
	audit_free(&audit);
	if (status == NO_MEMORY)
		return fail(error, NO_MEMORY, "out of memory");
	/* Costs are whole numbers: the least one is at least the bound rounded up. */
	wide unit = (wide)1 << certificate->shift, whole = sum / unit + (sum % unit > 0);
	*bound = whole > INT64_MAX ? INT64_MAX : whole < -INT64_MAX ? -INT64_MAX : (int64_t)whole;
	return status;
}
