/* check.c: re-sums a choice, and verifies a dual bound in integers. Shares no code with the solver.
 *
 * Lagrangian duality and reparametrisation: for any multipliers >= 0 and any messages, the sum of the least reduced
 * cost of every node and of every edge, less multiplier times limit, is below the cost of every choice within the
 * limit. Strategies without an allowed partner over some edge take part in no choice and are left out first. Nodes at
 * the ends of an edge that leaves every strategy one partner choose together: they are merged by union-find, which
 * keeps for every node the map of its strategies to those of its parent. */
#include <stdlib.h>
#include <string.h>

#include "problems.h"

__extension__ typedef __int128 wide;

#define SHIFT_MAX 40

/* ---- a choice ---- */

struct change { int64_t time, bytes; };

COMPARATOR(problems_check_by_time, struct change, COMPARE(a->time, b->time, COMPARE(a->bytes, b->bytes, 0)))

/* The largest sum of usages at a moment: frees come before allocations of the same time. */
static enum status find_peak(const struct shard_problem *problem, const uint32_t *choice, int64_t *peak)
{
	size_t count = 0;
	struct change *MAKE(change, 2 * (size_t)problem->nodes);
	int64_t live = 0;
	NEED(change);
	FOR(node, problem->nodes) {
		int64_t usage = problem->usage[problem->first[node] + choice[node]];
		if (problem->begin[node] >= problem->end[node])
			continue;
		change[count++] = (struct change) { problem->begin[node], usage };
		change[count++] = (struct change) { problem->end[node], -usage };
	}
	SORT(change, count, problems_check_by_time);
	*peak = 0;
	FOR_SIZE(i, count) {
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
	FOR(node, problem->nodes) {
		if (choice[node] >= shard_strategies(problem, node))
			return refuse(error, "node %u has no strategy %u", node, choice[node]);
		int64_t part = problem->cost[problem->first[node] + choice[node]];
		if (part >= SHARD_FORBIDDEN)
			return refuse(error, "strategy %u of node %u is forbidden", choice[node], node);
		*cost += part;
	}
	FOR(edge, problem->edges) {
		uint32_t from = problem->from[edge], to = problem->to[edge];
		int64_t part =
			problem->pair[problem->table[edge] + (size_t)choice[from] * shard_strategies(problem, to) + choice[to]];
		if (part >= SHARD_FORBIDDEN)
			return refuse(error, "strategies %u of node %u and %u of node %u are forbidden together", choice[from],
				from, choice[to], to);
		*cost += part;
	}
	if (find_peak(problem, choice, peak) != OK)
		return fail_memory(error);
	if (problem->limit >= 0 && *peak > problem->limit)
		return refuse(error, "%lld bytes at the peak, above the limit of %lld", (long long)*peak,
			(long long)problem->limit);
	return OK;
}

/* ---- a bound ---- */

struct link { uint32_t low, high, edge; }; /* an edge under its ends, the lower one first */

struct audit {
	const struct shard_problem *problem;
	const struct control *control;
	const struct shard_certificate *certificate;
	struct link *link; /* edges between two different nodes, those between the same two next to each other */
	uint32_t links;
	bool *alive;   /* strategy -> it may take part in a choice */
	wide *reduced; /* strategy -> its cost after multipliers and messages */
	int64_t *sum;  /* pairs of one group's nodes; SHARD_FORBIDDEN where they are forbidden */
	uint32_t *parent; /* union-find over nodes; at the end every node's parent is the lowest that it is merged with */
	uint32_t *map;     /* strategy -> the parent's strategy that it goes with; valid where alive */
	uint32_t *scratch; /* [most strategies of a node] */
	bool merged;       /* links are between merged nodes */
};

COMPARATOR(problems_check_by_ends, struct link, COMPARE(a->low, b->low, COMPARE(a->high, b->high, COMPARE(a->edge,
	b->edge, 0))))

static void audit_free(struct audit *audit)
{
	mem_free(audit->link);
	mem_free(audit->alive);
	mem_free(audit->reduced);
	mem_free(audit->sum);
	mem_free(audit->parent);
	mem_free(audit->map);
	mem_free(audit->scratch);
}

static enum status audit_begin(struct audit *audit)
{
	const struct shard_problem *problem = audit->problem;
	uint32_t strategies = problem->first[problem->nodes];
	size_t widest = 1;
	FOR(node, problem->nodes)
		widest = shard_strategies(problem, node) > widest ? shard_strategies(problem, node) : widest;
	MAKE(audit->parent, problem->nodes);
	MAKE(audit->map, strategies);
	MAKE(audit->scratch, widest);
	MAKE(audit->link, problem->edges);
	MAKE(audit->alive, strategies);
	MAKE(audit->reduced, strategies);
	MAKE(audit->sum, widest * widest);
	NEED(audit->parent && audit->map && audit->scratch && audit->link && audit->alive && audit->reduced && audit->sum);
	FOR(i, strategies) {
		audit->alive[i] = problem->cost[i] < SHARD_FORBIDDEN;
		audit->reduced[i] = (wide)problem->cost[i] * ((wide)1 << audit->certificate->shift);
	}
	FOR(edge, problem->edges) {
		uint32_t from = problem->from[edge], to = problem->to[edge];
		if (from != to)
			audit->link[audit->links++] = (struct link) { from < to ? from : to, LARGER(to, from), edge };
	}
	SORT(audit->link, audit->links, problems_check_by_ends);
	return OK;
}

/* An edge from a node to itself is a cost of the node. */
static void add_loops(struct audit *audit)
{
	const struct shard_problem *problem = audit->problem;
	FOR(edge, problem->edges) {
		uint32_t node = problem->from[edge], width = shard_strategies(problem, node);
		FOR_WHILE(i, width, node == problem->to[edge]) {
			int64_t cost = problem->pair[problem->table[edge] + (size_t)i * width + i];
			audit->alive[problem->first[node] + i] &= cost < SHARD_FORBIDDEN;
			audit->reduced[problem->first[node] + i] += (wide)cost * ((wide)1 << audit->certificate->shift);
		}
	}
}

/* Sums the costs of the edges that have the ends of link i, rows for the lower one; returns the next group's.
 * Strategies are those of the ends' lowest members, all others' mapped to them. */
static uint32_t sum_group(struct audit *audit, uint32_t i)
{
	const struct shard_problem *problem = audit->problem;
	const struct link *link = &audit->link[i];
	uint32_t rows = shard_strategies(problem, link->low), columns = shard_strategies(problem, link->high);
	FOR_SIZE(k, (size_t)rows * columns)
		audit->sum[k] = audit->alive[problem->first[link->low] + k / columns] &&
				audit->alive[problem->first[link->high] + k % columns]
			? 0
			: SHARD_FORBIDDEN;
	for (; i < audit->links && audit->link[i].low == link->low && audit->link[i].high == link->high; i++) {
		uint32_t edge = audit->link[i].edge, from = problem->from[edge], to = problem->to[edge];
		bool along = (audit->merged ? audit->parent[from] : from) == link->low;
		FOR(p, shard_strategies(problem, from))
			FOR(q, shard_strategies(problem, to)) {
				if (!audit->alive[problem->first[from] + p] || !audit->alive[problem->first[to] + q])
					continue;
				uint32_t a = audit->merged ? audit->map[problem->first[from] + p] : p,
						 b = audit->merged ? audit->map[problem->first[to] + q] : q;
				int64_t *sum = &audit->sum[along ? (size_t)a * columns + b : (size_t)b * columns + a];
				int64_t cost = problem->pair[problem->table[edge] + (size_t)p * shard_strategies(problem, to) + q];
				*sum = cost >= SHARD_FORBIDDEN || *sum == SHARD_FORBIDDEN ? SHARD_FORBIDDEN : *sum + cost;
			}
	}
	return i;
}

/* Partners that the summed edge leaves a strategy of its lower (rows) or higher end; one of them into *which. */
static uint32_t partners(const struct audit *audit, const struct link *link, bool of_low, uint32_t p, uint32_t *which)
{
	const struct shard_problem *problem = audit->problem;
	uint32_t columns = shard_strategies(problem, link->high), count = 0;
	for (uint32_t q = 0; q < shard_strategies(problem, of_low ? link->high : link->low); q++)
		if (audit->sum[of_low ? (size_t)p * columns + q : (size_t)q * columns + p] < SHARD_FORBIDDEN) {
			*which = q;
			count++;
		}
	return count;
}

/* Kills strategies that have no partner over the summed edge. */
static bool problems_check_prune(struct audit *audit, const struct link *link)
{
	const struct shard_problem *problem = audit->problem;
	bool changed = false;
	FOR_INT(side, 2) {
		uint32_t node = side == 0 ? link->low : link->high, which;
		FOR(p, shard_strategies(problem, node)) {
			bool *alive = &audit->alive[problem->first[node] + p];
			if (!*alive || partners(audit, link, side == 0, p, &which) > 0)
				continue;
			*alive = false;
			changed = true;
		}
	}
	return changed;
}

/* ---- merged nodes ---- */

/* The root of a node; every node on the way gets the root for parent, and its map to it. */
static uint32_t problems_check_find(struct audit *audit, uint32_t node)
{
	const struct shard_problem *problem = audit->problem;
	uint32_t up = audit->parent[node];
	if (up == node)
		return node;
	uint32_t root = up;
	while (audit->parent[root] != root)
		root = audit->parent[root];
	while (audit->parent[node] != root) { /* one step closer at a time: the maps stay short */
		up = audit->parent[node];
		FOR_SPAN(i, problem->first, node)
			if (audit->alive[i])
				audit->map[i] = audit->map[problem->first[up] + audit->map[i]];
		audit->parent[node] = audit->parent[up];
	}
	return root;
}

/* The strategy of node that goes with the root's strategy r, or NONE. */
static uint32_t of_root(const struct audit *audit, uint32_t node, uint32_t r)
{
	const struct shard_problem *problem = audit->problem;
	FOR_SPAN(i, problem->first, node)
		if (audit->alive[i] && audit->map[i] == r)
			return i - problem->first[node];
	return NONE;
}

/* Puts the root of the link's higher end under that of the lower one, or the other way: the lower root stays. */
static void problems_check_unite(struct audit *audit, const struct link *link)
{
	const struct shard_problem *problem = audit->problem;
	uint32_t a = problems_check_find(audit, link->low), b = problems_check_find(audit, link->high);
	if (a == b)
		return;
	bool low_stays = a < b;
	uint32_t near = low_stays ? link->high : link->low, far = low_stays ? link->low : link->high,
			 under = low_stays ? b : a;
	FOR(r, shard_strategies(problem, under)) {
		uint32_t mine = of_root(audit, near, r), other = NONE;
		if (mine == NONE || partners(audit, link, !low_stays, mine, &other) == 0)
			continue;
		audit->scratch[r] = audit->map[problem->first[far] + other];
	}
	/* Only now: near may be the root that is going under. */
	COPY(audit->map + problem->first[under], audit->scratch, shard_strategies(problem, under));
	audit->parent[under] = low_stays ? a : b;
}

/* Does the summed edge leave every strategy exactly one partner? */
static bool one_to_one(const struct audit *audit, const struct link *link)
{
	const struct shard_problem *problem = audit->problem;
	FOR_INT(side, 2) {
		uint32_t node = side == 0 ? link->low : link->high, which;
		FOR(p, shard_strategies(problem, node))
			if (audit->alive[problem->first[node] + p] && partners(audit, link, side == 0, p, &which) != 1)
				return false;
	}
	return true;
}

static void problems_check_separate(struct audit *audit)
{
	const struct shard_problem *problem = audit->problem;
	FOR(node, problem->nodes) {
		audit->parent[node] = node;
		FOR_SPAN(i, problem->first, node)
			audit->map[i] = i - problem->first[node];
	}
}

static void prune_all(struct audit *audit)
{
	bool changed = true;
	problems_check_separate(audit);
	while (changed) {
		changed = false;
		for (uint32_t i = 0, next; i < audit->links; i = next) {
			next = sum_group(audit, i);
			changed |= problems_check_prune(audit, &audit->link[i]);
		}
	}
}

/* Kills strategies of merged nodes that an edge between them forbids, or whose partner is dead; true when there were
 * any. */
static bool prune_merged(struct audit *audit)
{
	const struct shard_problem *problem = audit->problem;
	bool changed = false;
	FOR(i, audit->links) {
		uint32_t edge = audit->link[i].edge, from = problem->from[edge], to = problem->to[edge];
		FOR_WHILE(p, shard_strategies(problem, from), audit->parent[from] == audit->parent[to]) {
			uint32_t at = problem->first[from] + p, q = audit->alive[at] ? of_root(audit, to, audit->map[at]) : NONE;
			if (!audit->alive[at] || (q != NONE
				&& problem->pair[problem->table[edge] + (size_t)p * shard_strategies(problem, to) + q] < SHARD_FORBIDDEN))
				continue;
			audit->alive[at] = false;
			changed = true;
		}
	}
	return changed;
}

/* An edge between merged nodes is a cost of each of their strategies. */
static void problems_check_add_inside(struct audit *audit, uint32_t edge)
{
	const struct shard_problem *problem = audit->problem;
	uint32_t from = problem->from[edge], to = problem->to[edge];
	FOR(p, shard_strategies(problem, from)) {
		uint32_t at = problem->first[from] + p, q = audit->alive[at] ? of_root(audit, to, audit->map[at]) : NONE;
		if (q != NONE)
			audit->reduced[at] += (wide)problem->pair[problem->table[edge] + (size_t)p * shard_strategies(problem, to) + q]
				* ((wide)1 << audit->certificate->shift);
	}
}

/* Merges, and gives every node its root for parent. Links are then those of the roots. */
static void merge_all(struct audit *audit)
{
	const struct shard_problem *problem = audit->problem;
	struct link *link = audit->link;
	uint32_t *parent = audit->parent, links = 0;
	do {
		prune_all(audit);
		for (uint32_t i = 0, next; i < audit->links && control_status(audit->control) != CANCELLED; i = next) {
			next = sum_group(audit, i);
			if (one_to_one(audit, &link[i]))
				problems_check_unite(audit, &link[i]);
		}
		FOR(node, problem->nodes)
			problems_check_find(audit, node);
	} while (prune_merged(audit));
	FOR(i, audit->links) {
		uint32_t a = parent[link[i].low], b = parent[link[i].high];
		if (a == b)
			problems_check_add_inside(audit, link[i].edge);
		else
			link[links++] = (struct link) { a < b ? a : b, LARGER(b, a), link[i].edge };
	}
	audit->links = links;
	audit->merged = true;
	SORT(link, links, problems_check_by_ends);
}

/* Costs of merged nodes are the lowest one's. */
static void problems_check_gather(struct audit *audit)
{
	const struct shard_problem *problem = audit->problem;
	FOR(node, problem->nodes)
		for (uint32_t s = problem->first[node]; s < problem->first[node + 1] && audit->parent[node] != node; s++)
			if (audit->alive[s])
				audit->reduced[problem->first[audit->parent[node]] + audit->map[s]] += audit->reduced[s];
}

/* Multiplier times usage, for every moment at which a node is alive. */
static enum status add_multipliers(struct audit *audit, wide *bound)
{
	const struct shard_problem *problem = audit->problem;
	const struct shard_certificate *certificate = audit->certificate;
	wide *MAKE(before, (size_t)certificate->moments + 1);
	NEED(before);
	FOR(i, certificate->moments)
		before[i + 1] = before[i] + certificate->multiplier[i];
	FOR(node, problem->nodes) {
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
static enum status problems_check_add_group(
	struct audit *audit, const struct link *link, wide *bound, struct error *error)
{
	const struct shard_problem *problem = audit->problem;
	const struct shard_certificate *certificate = audit->certificate;
	uint32_t rows = shard_strategies(problem, link->low), columns = shard_strategies(problem, link->high);
	const int64_t *message = certificate->message + certificate->start[link->edge];
	bool along = audit->parent[problem->from[link->edge]] == link->low;
	const int64_t *to_low = message + (along ? 0 : columns), *to_high = message + (along ? rows : 0);
	wide least = 0;
	bool any = false;
	if (certificate->start[link->edge + 1] - certificate->start[link->edge] != (size_t)rows + columns)
		return refuse(error, "edge %u has the wrong number of messages", link->edge);
	FOR(p, rows)
		FOR(q, columns) {
			int64_t cost = audit->sum[(size_t)p * columns + q];
			if (cost == SHARD_FORBIDDEN)
				continue;
			wide reduced = (wide)cost * ((wide)1 << certificate->shift) - to_low[p] - to_high[q];
			least = any && least < reduced ? least : reduced;
			any = true;
		}
	FOR(p, rows)
		audit->reduced[problem->first[link->low] + p] += to_low[p];
	FOR(q, columns)
		audit->reduced[problem->first[link->high] + q] += to_high[q];
	*bound += least;
	return OK;
}

static enum status problems_check_add_edges(struct audit *audit, wide *bound, struct error *error)
{
	for (uint32_t i = 0, next; i < audit->links; i = next) {
		if (control_status(audit->control) == CANCELLED)
			return CANCELLED;
		next = sum_group(audit, i);
		TRY(problems_check_add_group(audit, &audit->link[i], bound, error));
	}
	return OK;
}

static enum status problems_check_add_nodes(const struct audit *audit, wide *bound, struct error *error)
{
	const struct shard_problem *problem = audit->problem;
	FOR(node, problem->nodes) {
		wide least = 0;
		bool any = false;
		FOR_SPAN(i, problem->first, node) {
			if (!audit->alive[i])
				continue;
			least = any && least < audit->reduced[i] ? least : audit->reduced[i];
			any = true;
		}
		if (!any)
			return fail(error, INFEASIBLE, "forbidden pairs leave node %u no strategy", node);
		if (audit->parent[node] == node)
			*bound += least;
	}
	return OK;
}

/* Do multipliers times bytes stay far from 2^127? */
static bool multipliers_fit(const struct shard_problem *problem, const struct shard_certificate *certificate)
{
	wide sum = 0, bytes = problem->limit;
	FOR(i, certificate->moments)
		sum += certificate->multiplier[i];
	FOR(i, problem->first[problem->nodes])
		bytes = LARGER(problem->usage[i], bytes);
	return bytes <= 0 || sum <= ((wide)1 << 124) / bytes / (problem->nodes + (wide)1);
}

static enum status certificate_valid(const struct shard_problem *problem, const struct shard_certificate *certificate,
	struct error *error)
{
	if (certificate->shift > SHIFT_MAX)
		return refuse(error, "the certificate's unit is too small");
	if (certificate->moments && problem->limit < 0)
		return refuse(error, "there are multipliers, but no limit");
	FOR(i, certificate->moments)
		if (certificate->multiplier[i] < 0 || (i && certificate->moment[i] <= certificate->moment[i - 1]))
			return refuse(error, "multiplier %u is negative or its moment not after the one before", i);
	if (!multipliers_fit(problem, certificate))
		return refuse(error, "the multipliers are too large");
	return OK;
}

enum status shard_bound(const struct shard_problem *problem, const struct shard_certificate *certificate,
	const struct control *control, int64_t *bound, struct error *error)
{
	struct audit audit = { .problem = problem, .certificate = certificate, .control = control };
	wide sum = 0;
	enum status status = certificate_valid(problem, certificate, error);
	THEN(status, audit_begin(&audit));
	if (status == OK) {
		add_loops(&audit);
		merge_all(&audit);
		status = control_status(control) == CANCELLED ? CANCELLED : add_multipliers(&audit, &sum);
	}
	if (status == OK) {
		problems_check_gather(&audit);
		status = problems_check_add_edges(&audit, &sum, error);
	}
	THEN(status, problems_check_add_nodes(&audit, &sum, error));
	audit_free(&audit);
	if (status == NO_MEMORY)
		return fail_memory(error);
	/* Costs are whole numbers: the least one is at least the bound rounded up. */
	wide unit = (wide)1 << certificate->shift, whole = sum / unit + (sum % unit > 0);
	*bound = whole > INT64_MAX ? INT64_MAX : whole < -INT64_MAX ? -INT64_MAX : (int64_t)whole;
	return status;
}
